-- Like `read-session`, but locks the session against other writers, and its project.
-- @optional
SELECT {session-columns}, {projects/locked-access row=s role=ai_role}
FROM ai_sessions s
WHERE s.id = :id
FOR NO KEY UPDATE OF s
