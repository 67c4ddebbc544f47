-- An event with its owner, its scope and the role that reads it, and the role of the user in its project.
-- @optional
SELECT {event-columns}, e.user_id, e.scope, e.role AS min_role, m.role
FROM events e LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = :user_id
WHERE e.id = :id
