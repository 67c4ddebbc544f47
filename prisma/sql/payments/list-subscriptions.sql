-- Subscriptions. Without a filter: all subscriptions of the operator, for operators.
-- @page
SELECT {subscription-columns}, s.project_id
FROM subscriptions s
WHERE true
-- @filter workspace_id
s.workspace_id = :workspace_id
-- @filter organization_id searches
s.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = :organization_id)
-- @filter seller_organization_id
s.seller_organization_id = :seller_organization_id
-- @otherwise
s.seller_organization_id IS NULL
-- @filter user_id
s.owner_id = :user_id
-- @filter customer_id
s.customer_id = :customer_id
-- @common s.id=sub s.updated_at s.metadata
-- @filter status
s.status = ANY(:status)
-- @sort created_at
s.id
-- @sort current_period_end
coalesce(s.period_end, 'infinity')
-- @sort updated_at
s.updated_at
-- @id
s.id
-- @total
{count-sales kind='subscriptions'}
-- @total status
{count-sales kind='subscriptions'} AND status = ANY(:status::"SubscriptionStatus"[]::text[])
-- @total seller_organization_id
{count-sales-of-organization kind='subscriptions'}
