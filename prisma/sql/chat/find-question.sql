-- The last question of a session up to a message.
-- @optional
SELECT id, content, image_file_ids, position FROM ai_messages
WHERE session_id = :session_id AND position <= (SELECT position FROM ai_messages WHERE id = :message_id)
  AND role = 'user'
ORDER BY position DESC LIMIT 1
