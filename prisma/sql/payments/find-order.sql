-- An order with its owner, without authorization.
-- @optional
SELECT {order-columns items=order_items}, o.project_id, {owner row=o}
FROM orders o
WHERE o.id = :id
