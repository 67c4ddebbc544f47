-- The stored response of a request. A separate statement after the lock, so that its snapshot includes what
-- the previous holder committed.
-- @optional
SELECT body_hash, status, answer FROM idempotency_records
WHERE owner_id = :owner_id AND key_digest = :key_digest AND created_at > now() - interval '24 hours'
