-- Revokes a batch of expired keys: they no longer count as keys of their users.
-- @one
WITH ended AS (
  UPDATE api_keys SET revoked_at = expires_at WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM api_keys WHERE revoked_at IS NULL AND expires_at < now() LIMIT :limit
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM ended
