-- The type of a job.
-- @optional
-- @type type Schemas['JobType']
SELECT j.type FROM tracked_jobs j WHERE j.id = :id
