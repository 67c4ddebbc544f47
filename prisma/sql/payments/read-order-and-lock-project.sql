-- Like `read-order`, but locks the order's project. `lock-order` locks the order after its subscription.
-- @optional
SELECT {order-columns items=order_items}, {projects/locked-access row=o role=payments_role}
FROM orders o
WHERE o.id = :id
