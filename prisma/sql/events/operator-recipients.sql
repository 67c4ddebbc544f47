-- The endpoints of operators that receive the event `e` because it is a sale.
SELECT {recipient-columns}
FROM users u JOIN webhook_endpoints w ON w.user_id = u.id CROSS JOIN e {no-member}
WHERE u.role = 'admin' AND :scope = 'payments:read' AND {selects-event} AND {may-receive}
