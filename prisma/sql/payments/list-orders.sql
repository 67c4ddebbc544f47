-- Orders. Without a filter: all orders of the operator, for operators.
-- @page
SELECT {order-columns items=order_items}, o.project_id
FROM orders o
WHERE true
-- @filter workspace_id
o.workspace_id = :workspace_id
-- @filter organization_id searches
o.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = :organization_id)
-- @filter seller_organization_id
o.seller_organization_id = :seller_organization_id
-- @otherwise
o.seller_organization_id IS NULL
-- @filter user_id
o.owner_id = :user_id
-- @filter customer_id
o.customer_id = :customer_id
-- @filter created_by
o.created_by = :created_by
-- @common o.id=ord o.updated_at o.metadata
-- @filter status
o.status = ANY(:status)
-- @filter subscription_id
o.subscription_id = :subscription_id
-- @filter number
o.number = :number
-- @filter price_id searches
EXISTS (SELECT FROM order_items i WHERE i.order_id = o.id AND i.price_id = :price_id)
-- @sort created_at
o.id
-- @sort total_amount
o.total_amount
-- @sort updated_at
o.updated_at
-- @id
o.id
-- @total
{count-sales kind='orders'}
-- @total status
{count-sales kind='orders'} AND status = ANY(:status::"OrderStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='orders'}
