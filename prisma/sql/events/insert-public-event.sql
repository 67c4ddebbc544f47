-- Inserts an event for everyone, with a delivery for each endpoint that receives it.
-- @many
WITH e AS ({insert-event} RETURNING *), recipients AS (
  SELECT {recipient-columns}
  FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN e {no-member}
  WHERE {selects-event} AND {may-receive}
)
{add-deliveries}
