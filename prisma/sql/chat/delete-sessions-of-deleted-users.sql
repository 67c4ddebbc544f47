-- Deletes the sessions of deleted users.
-- @one
WITH deleted AS (
  DELETE FROM ai_sessions WHERE id = ANY(ARRAY(
    SELECT s.id FROM users u JOIN ai_sessions s ON s.workspace_id = u.id
    WHERE u.status = 'deleted' LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
