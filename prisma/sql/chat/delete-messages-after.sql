-- Deletes the messages after the given one from the session, which the caller has locked. Returns the first
-- of them, which is the answer, with its Idempotency-Key.
-- @optional
WITH deleted AS (
    DELETE FROM ai_messages
    WHERE session_id = :session_id AND position > (SELECT position FROM ai_messages WHERE id = :message_id)
    RETURNING position, user_id, key_digest, body_hash),
  counted AS (
    UPDATE ai_sessions SET message_count = message_count - (SELECT count(*) FROM deleted)
    WHERE id = :session_id)
SELECT user_id, key_digest, body_hash FROM deleted ORDER BY position LIMIT 1
