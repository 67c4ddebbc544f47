-- An order and the caller's access to it.
-- @optional
SELECT {order-columns items=order_items}, {projects/access row=o role=payments_role}
FROM orders o
WHERE o.id = :id
