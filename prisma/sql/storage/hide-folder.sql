-- Makes a folder, and those in it, invisible for a job that deletes them. Returns the number of its files.
-- @one
WITH hidden AS (
  UPDATE folders d SET deleted_at = now(), deletion_job_id = :job_id
  WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL
    AND (d.id = :id OR starts_with(d.path, :path || '/'))
  RETURNING d.id
)
SELECT count(f.id) AS "files!"
FROM hidden LEFT JOIN files f ON f.folder_id = hidden.id AND f.trashed_at IS NULL
