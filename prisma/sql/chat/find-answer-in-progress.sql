-- An answer of a session in progress.
-- @optional
SELECT id FROM ai_messages WHERE session_id = :session_id AND status = 'in_progress' LIMIT 1
