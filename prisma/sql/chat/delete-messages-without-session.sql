-- Deletes answers without a session after a day.
-- @one
WITH deleted AS (
  DELETE FROM ai_messages WHERE id = ANY(ARRAY(
    SELECT id FROM ai_messages
    WHERE session_id IS NULL AND status <> 'in_progress' AND created_at < now() - interval '24 hours'
    LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
