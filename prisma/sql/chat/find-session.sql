-- A session that exists, without authorization.
-- @one
SELECT {session-columns}, s.project_id
FROM ai_sessions s
WHERE s.id = :id
