-- Checkout sessions. Without a filter: all sessions of the operator, for operators.
-- @page
SELECT {checkout-columns}, c.project_id
FROM checkouts c
WHERE true
-- @filter workspace_id
coalesce(c.project_id, c.owner_id) = :workspace_id
-- @filter organization_id searches
c.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = :organization_id)
-- @filter seller_organization_id
c.seller_organization_id = :seller_organization_id
-- @otherwise
c.seller_organization_id IS NULL
-- @filter user_id
c.owner_id = :user_id
-- @filter customer_id
c.customer_id = :customer_id
-- @common c.id=chk c.updated_at c.metadata
-- @filter status
c.status = ANY(:status)
-- @filter order_id
c.order_id = :order_id
-- @sort created_at
c.id
-- @sort expires_at
c.expires_at
-- @sort updated_at
c.updated_at
-- @id
c.id
-- @total
{count-sales kind='checkouts'}
-- @total status
{count-sales kind='checkouts'} AND status = ANY(:status::"CheckoutStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='checkouts'}
