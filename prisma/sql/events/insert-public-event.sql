-- Inserts an event for everyone. Returns the endpoints that receive it.
-- @many
WITH event AS ({insert-event})
SELECT {recipient-columns}
FROM webhook_endpoints w JOIN users u ON u.id = w.user_id
WHERE {selects-event}
