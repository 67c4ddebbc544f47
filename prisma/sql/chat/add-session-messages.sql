-- Counts the messages that a session gains.
-- @none
UPDATE ai_sessions SET message_count = message_count + :added_messages, last_message_at = now(),
  updated_at = now()
WHERE id = :id
