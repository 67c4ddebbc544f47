-- Inserts a job that waits for a worker.
-- @one
WITH j AS (
  INSERT INTO tracked_jobs
    (id, type, project_id, owner_id, workspace_id, resource_id, total, until, created_at, updated_at)
  VALUES (:id, :type, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :resource_id?, :total,
    :until?, :created_at, :created_at)
  RETURNING *
)
SELECT {job-columns}, j.project_id FROM j
