-- A refund that exists.
-- @one
SELECT {refund-columns}
FROM refunds r JOIN orders o ON o.id = r.order_id
WHERE r.id = :id
