-- Disputes. Without a filter: all disputes of the operator, for operators.
-- @page
SELECT {dispute-columns}, d.project_id
FROM disputes d
WHERE true
-- @filter workspace_id
coalesce(d.project_id, d.owner_id) = :workspace_id
-- @filter organization_id searches
d.project_id IN (SELECT j.id FROM projects j WHERE j.organization_id = :organization_id)
-- @filter seller_organization_id
d.seller_organization_id = :seller_organization_id
-- @otherwise
d.seller_organization_id IS NULL
-- @filter user_id
d.owner_id = :user_id
-- @common d.id=dp d.updated_at
-- @filter status
d.status = ANY(:status)
-- @filter order_id
d.order_id = :order_id
-- @filter payment_id
d.payment_id = :payment_id
-- @sort created_at
d.id
-- @sort updated_at
d.updated_at
-- @id
d.id
-- @total
{count-sales kind='disputes'}
-- @total status
{count-sales kind='disputes'} AND status = ANY(:status::"DisputeStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='disputes'}
