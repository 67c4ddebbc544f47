-- Deletes a batch of portal sessions that have expired. Returns their number.
-- @one
WITH removed AS (
  DELETE FROM portal_sessions WHERE id = ANY(ARRAY(
    SELECT id FROM portal_sessions WHERE expires_at <= now() ORDER BY expires_at LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM removed
