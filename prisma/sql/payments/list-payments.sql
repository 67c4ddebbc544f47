-- Payments. Without a filter: all payments of the operator, for operators.
-- @page
SELECT {payment-columns}, p.project_id
FROM payments p
WHERE true
-- @filter workspace_id
coalesce(p.project_id, p.owner_id) = :workspace_id
-- @filter organization_id searches
p.project_id IN (SELECT j.id FROM projects j WHERE j.organization_id = :organization_id)
-- @filter seller_organization_id
p.seller_organization_id = :seller_organization_id
-- @otherwise
p.seller_organization_id IS NULL
-- @filter user_id
p.owner_id = :user_id
-- @common p.id=pay p.updated_at
-- @filter status
p.status = ANY(:status)
-- @filter order_id
p.order_id = :order_id
-- @filter subscription_id
p.subscription_id = :subscription_id
-- @sort created_at
p.id
-- @sort updated_at
p.updated_at
-- @id
p.id
-- @total
{count-sales kind='payments'}
-- @total status
{count-sales kind='payments'} AND status = ANY(:status::"PaymentStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='payments'}
