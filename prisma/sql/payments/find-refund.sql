-- A refund of an order.
-- @optional
SELECT {refund-columns}
FROM refunds r
WHERE r.order_id = :order_id AND r.id = :id
