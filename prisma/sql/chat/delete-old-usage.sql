-- Deletes the usage of API keys after 400 days.
-- @one
WITH deleted AS (
  DELETE FROM ai_usage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ai_usage WHERE day < now() - interval '400 days' LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
