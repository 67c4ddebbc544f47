-- Stores the Idempotency-Key of a deleted answer with its question, so that a repeated request does not
-- generate a second answer.
-- @none
UPDATE ai_messages SET key_digest = :key_digest, body_hash = :body_hash?
WHERE id = :id AND user_id = :user_id AND key_digest IS NULL
