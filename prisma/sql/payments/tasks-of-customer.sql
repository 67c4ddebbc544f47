-- The tasks of the customer `k`, of each kind that `find-due-task` finds.
SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at
FROM orders o JOIN payments p ON p.order_id = o.id AND p.due_at IS NOT NULL
WHERE o.customer_id = k.id
UNION ALL
SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c WHERE c.customer_id = k.id AND {may-expire}
UNION ALL
SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s
WHERE s.customer_id = k.id AND s.due_at IS NOT NULL
UNION ALL
SELECT 4, 'dispute', d.id, d.due_at
FROM orders o JOIN disputes d ON d.order_id = o.id AND d.due_at IS NOT NULL
WHERE o.customer_id = k.id
