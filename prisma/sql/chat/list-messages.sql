-- The messages of a session.
-- @page
SELECT {message-columns}, s.project_id
FROM ai_messages m JOIN ai_sessions s ON s.id = m.session_id
WHERE m.session_id = :session_id
-- @common m.created_at m.updated_at m.metadata
-- @sort position
m.position
-- @id
m.id
-- @total
SELECT count(*) AS total FROM ai_messages m WHERE m.session_id = :session_id
