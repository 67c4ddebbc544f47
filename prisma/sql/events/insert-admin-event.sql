-- Inserts an event for admins. Returns the endpoints of admins that receive it.
-- @many
WITH e AS ({insert-event} RETURNING *)
SELECT {recipient-columns}
FROM users u JOIN webhook_endpoints w ON w.user_id = u.id CROSS JOIN e {no-member}
WHERE u.role = 'admin' AND {selects-event} AND {may-receive}
