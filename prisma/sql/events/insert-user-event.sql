-- Inserts an event about a user. Returns the endpoints of the user and of operators that receive it.
-- @many
WITH e AS ({insert-event} RETURNING *)
SELECT {recipient-columns}
FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN e {no-member}
WHERE w.user_id = :user_id AND {selects-event} AND {may-receive}
UNION
{operator-recipients}
