-- Deletes a batch of the jobs that ended 30 days ago.
-- @one
WITH deleted AS (
  DELETE FROM tracked_jobs WHERE id = ANY(ARRAY(
    SELECT id FROM tracked_jobs WHERE finished_at < now() - interval '30 days' LIMIT :limit
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
