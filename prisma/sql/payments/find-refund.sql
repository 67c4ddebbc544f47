-- A refund of an order.
-- @optional
SELECT {refund-columns}
FROM refunds r JOIN orders o ON o.id = r.order_id
WHERE r.order_id = :order_id AND r.id = :id
