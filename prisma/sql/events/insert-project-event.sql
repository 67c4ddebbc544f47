-- Inserts an event of a project or an organization, with a delivery for each endpoint of members and
-- operators that receives it.
-- @many
WITH e AS ({insert-event} RETURNING *), recipients AS (
  SELECT {recipient-columns}
  FROM event_readers m
    JOIN webhook_endpoints w ON w.user_id = m.user_id
    JOIN users u ON u.id = w.user_id
    CROSS JOIN e
  WHERE m.project_id = :project_id AND {selects-event} AND {may-receive}
  UNION
  {operator-recipients}
)
{add-deliveries}
