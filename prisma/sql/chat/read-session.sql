-- A session and the caller's access to it.
-- @optional
SELECT {session-columns}, {projects/access row=s}
FROM ai_sessions s
WHERE s.id = :id
