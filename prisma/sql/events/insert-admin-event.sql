-- Inserts an event for admins, with a delivery for each endpoint of admins that receives it.
-- @many
WITH e AS ({insert-event} RETURNING *), recipients AS (
  SELECT {recipient-columns}
  FROM users u JOIN webhook_endpoints w ON w.user_id = u.id CROSS JOIN e {no-member}
  WHERE u.role = 'admin' AND {selects-event} AND {may-receive}
)
{add-deliveries}
