-- Deletes a batch of expired one-time tokens.
-- @one
WITH deleted AS (
  DELETE FROM one_time_tokens WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM one_time_tokens WHERE expires_at < now() LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
