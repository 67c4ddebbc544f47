-- Whether a session goes on after a message: with anything but answers that failed or were canceled.
-- @one
SELECT EXISTS (
  SELECT FROM ai_messages
  WHERE session_id = :session_id AND status NOT IN ('failed', 'canceled')
    AND position > (SELECT position FROM ai_messages WHERE id = :id)
) AS "goes_on!"
