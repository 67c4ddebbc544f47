-- The refunds of an order.
-- @page
SELECT {refund-columns}
FROM refunds r
WHERE r.order_id = :order_id
-- @sort created_at
r.id
-- @sort amount
r.amount
-- @id
r.id
