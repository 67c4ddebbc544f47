-- Inserts an event for admins. Returns the endpoints of admins that receive it.
-- @many
WITH event AS ({insert-event})
SELECT {recipient-columns}
FROM webhook_endpoints w JOIN users u ON u.id = w.user_id
WHERE u.role = 'admin' AND {selects-event}
