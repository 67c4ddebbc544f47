-- The orders of a workspace.
-- @page
SELECT {order-columns items=order_items}, o.project_id
FROM orders o
WHERE o.space_id = :space_id
-- @filter status
o.status = :status
-- @filter subscription_id
o.subscription_id = :subscription_id
-- @sort created_at
o.id
-- @sort total_amount
o.total_amount
-- @id
o.id
