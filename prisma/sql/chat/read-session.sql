-- A session and the caller's access to it.
-- @optional
SELECT {session-columns}, {projects/access row=s role=ai_role}
FROM ai_sessions s
WHERE s.id = :id
