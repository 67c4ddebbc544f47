-- Deletes a batch of sessions that have expired.
-- @one
WITH deleted AS (
  DELETE FROM sign_ins WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM sign_ins WHERE expires_at < now() LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
