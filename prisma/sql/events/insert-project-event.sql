-- Inserts an event of a project. Returns the endpoints of members that receive it.
-- @many
WITH event AS ({insert-event})
SELECT {recipient-columns}
FROM members m
  JOIN webhook_endpoints w ON w.user_id = m.user_id
  JOIN users u ON u.id = w.user_id
WHERE m.project_id = :project_id AND m.role <= :role
  AND (w.all_projects OR :project_id = ANY(w.project_ids)) AND {selects-event}
