-- The jobs of a workspace, or of all that a user can read. A list has a column `total` of its own.
-- @page
-- @type type Schemas['JobType']
-- @type status Schemas['JobStatus']
SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total AS total_of_job, j.error,
  j.owner_id AS created_by, j.created_at, j.updated_at, j.started_at, j.finished_at, j.project_id
FROM tracked_jobs j
WHERE true
-- @filter reader searches
{projects/in-readable row=j role=storage_role}
-- @otherwise
j.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=j}
-- @common j.id=job j.updated_at
-- @filter status
j.status = ANY(:status)
-- @filter type
j.type = :type
-- @filter created_by
j.owner_id = :created_by
-- @sort created_at
j.id
-- @sort updated_at
j.updated_at
-- @id
j.id
