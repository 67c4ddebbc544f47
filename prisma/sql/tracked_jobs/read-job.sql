-- A job and the caller's access to it.
-- @optional
SELECT {job-columns}, j.workspace_id, {projects/access row=j role=storage_role}
FROM tracked_jobs j WHERE j.id = :id
