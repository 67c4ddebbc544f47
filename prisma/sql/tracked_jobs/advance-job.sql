-- Counts what a step of a job has done.
-- @one
WITH j AS (
  UPDATE tracked_jobs SET done = done + :n::bigint, status = :status,
    started_at = CASE WHEN :status = 'canceled' THEN started_at ELSE coalesce(started_at, now()) END,
    finished_at = CASE WHEN :status <> 'running' THEN now() END,
    error = :error?
  WHERE id = :id RETURNING *
)
SELECT {job-columns}, j.project_id FROM j
