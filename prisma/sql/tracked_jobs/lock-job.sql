-- A job, locked against other writers.
-- @optional
SELECT {job-columns}, j.project_id, j.workspace_id, j.owner_id, j.until
FROM tracked_jobs j WHERE j.id = :id
FOR NO KEY UPDATE
