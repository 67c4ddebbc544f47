-- Inserts an event about a user. Returns the endpoints of the user that receive it.
-- @many
WITH event AS ({insert-event})
SELECT {recipient-columns}
FROM webhook_endpoints w JOIN users u ON u.id = w.user_id
WHERE w.user_id = :user_id AND (w.all_projects OR NOT {is-tenant-event type=:type}) AND {selects-event}
