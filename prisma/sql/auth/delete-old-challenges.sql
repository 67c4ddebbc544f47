-- Deletes a batch of expired challenges.
-- @one
WITH deleted AS (
  DELETE FROM passkey_challenges WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM passkey_challenges WHERE expires_at < now() LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
