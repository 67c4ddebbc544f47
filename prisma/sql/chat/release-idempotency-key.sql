-- Removes an Idempotency-Key from its message after 24 hours, so that it can be used again.
-- @none
UPDATE ai_messages SET key_digest = NULL
WHERE user_id = :user_id AND key_digest = :key_digest AND created_at <= now() - interval '24 hours'
