-- Makes the folders visible again whose deletion is canceled.
-- @none
UPDATE folders d
SET deleted_at = NULL, deletion_job_id = NULL,
  path = :new_path || substr(d.path, char_length(:path) + 1),
  name = CASE WHEN d.id = :id THEN :name ELSE d.name END,
  parent_id = CASE WHEN d.id = :id THEN :parent_id? ELSE d.parent_id END
WHERE d.deletion_job_id = :job_id
