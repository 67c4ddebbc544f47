-- `read-session` that locks the session against other writers, and its project.
-- @optional
SELECT {session-columns}, {projects/locked-access row=s}
FROM ai_sessions s
WHERE s.id = :id
FOR NO KEY UPDATE OF s
