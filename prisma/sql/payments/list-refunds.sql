-- The refunds of an order.
-- @page
SELECT {refund-columns}
FROM refunds r
WHERE r.order_id = :order_id
-- @common r.id=ref r.updated_at r.metadata
-- @filter status
r.status = ANY(:status)
-- @sort created_at
r.id
-- @sort amount
r.amount
-- @sort updated_at
r.updated_at
-- @id
r.id
