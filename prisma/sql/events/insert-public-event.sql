-- Inserts an event for everyone. Returns the endpoints that receive it.
-- @many
WITH e AS ({insert-event} RETURNING *)
SELECT {recipient-columns}
FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN e {no-member}
WHERE {selects-event} AND {may-receive}
