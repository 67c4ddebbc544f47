-- The columns of a Job, except its project, from tracked_jobs j.
-- @type type Schemas['JobType']
-- @type status Schemas['JobStatus']
j.id, j.type, j.status, j.resource_id, j.done, j.total, j.error, j.owner_id AS created_by,
j.created_at, j.updated_at, j.started_at, j.finished_at
