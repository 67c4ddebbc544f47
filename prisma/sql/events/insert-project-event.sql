-- Inserts an event of a project. Returns the endpoints of members and operators that receive it.
-- @many
WITH e AS ({insert-event} RETURNING *)
SELECT {recipient-columns}
FROM members m
  JOIN webhook_endpoints w ON w.user_id = m.user_id
  JOIN users u ON u.id = w.user_id
  CROSS JOIN e
WHERE m.project_id = :project_id AND {selects-event} AND {may-receive}
UNION
{operator-recipients}
