-- `read-order` that locks the order's project, but not the order: `lock-order` locks it after its
-- subscription.
-- @optional
SELECT {order-columns items=order_items}, {projects/locked-access row=o role=payments_role}
FROM orders o
WHERE o.id = :id
