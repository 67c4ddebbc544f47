-- Deletes a batch of the versions that were replaced some days ago.
-- @one
WITH deleted AS (
  DELETE FROM file_versions WHERE id = ANY(ARRAY(
    SELECT id FROM file_versions WHERE replaced_at < now() - make_interval(days => :days)
    ORDER BY replaced_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
