-- An order and the caller's access to it.
-- @optional
SELECT {order-columns items=order_items}, {projects/access row=o}
FROM orders o
WHERE o.id = :id
