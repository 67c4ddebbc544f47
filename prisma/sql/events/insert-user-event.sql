-- Inserts an event about a user, with a delivery for each endpoint of the user and of operators that receives
-- it.
-- @many
WITH e AS ({insert-event} RETURNING *), recipients AS (
  SELECT {recipient-columns}
  FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN e {no-member}
  WHERE w.user_id = :user_id AND {selects-event} AND {may-receive}
  UNION
  {operator-recipients}
)
{add-deliveries}
