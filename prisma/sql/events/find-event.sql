-- An event with its owner, its scope and the role that reads it, and the role of the user in its project.
-- @optional
SELECT {event-columns}, e.user_id, e.scope, e.role AS min_role,
  role_by_scope(e.scope, m.role, m.storage_role, m.ai_role, m.payments_role) AS role
FROM events e LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = :user_id
WHERE e.id = :id
