-- Orders. Without a filter: all orders, for operators.
-- @page
SELECT {order-columns items=order_items}, o.project_id
FROM orders o
WHERE true
-- @filter space_id
o.space_id = :space_id
-- @filter user_id
o.owner_id = :user_id
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
-- @total
{count-sales kind='orders'}
-- @total status
{count-sales kind='orders'} AND status = :status::"OrderStatus"::text
