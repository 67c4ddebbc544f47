-- Refunds. Without a filter: all refunds of the operator, for operators.
-- @page
SELECT {refund-columns}
FROM refunds r
WHERE true
-- @filter workspace_id
coalesce(r.project_id, r.owner_id) = :workspace_id
-- @filter organization_id searches
r.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = :organization_id)
-- @filter seller_organization_id
r.seller_organization_id = :seller_organization_id
-- @otherwise
r.seller_organization_id IS NULL
-- @filter user_id
r.owner_id = :user_id
-- @common r.id=ref r.updated_at r.metadata
-- @filter status
r.status = ANY(:status)
-- @filter order_id
r.order_id = :order_id
-- @sort created_at
r.id
-- @sort amount
r.amount
-- @sort updated_at
r.updated_at
-- @id
r.id
-- @total
{count-sales kind='refunds'}
-- @total status
{count-sales kind='refunds'} AND status = ANY(:status::"RefundStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='refunds'}
