-- Deletes the limits that were last reached before today.
-- @one
WITH deleted AS (
  DELETE FROM reached_limits WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM reached_limits WHERE day < {chat/today} LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
