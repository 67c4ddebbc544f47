-- Deletes the empty folders of a job. A folder in them that another job deletes loses its parent.
-- @none
WITH left_over AS (
  UPDATE folders d SET parent_id = NULL
  FROM folders p
  WHERE p.id = d.parent_id AND p.deletion_job_id = :job_id AND d.deletion_job_id <> :job_id
)
DELETE FROM folders d WHERE d.deletion_job_id = :job_id
