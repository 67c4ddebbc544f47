-- The subscriptions of a workspace.
-- @page
SELECT {subscription-columns}, s.project_id
FROM subscriptions s
WHERE s.space_id = :space_id
-- @filter status
s.status = :status
-- @sort created_at
s.id
-- @sort current_period_end
coalesce(s.period_end, 'infinity')
-- @id
s.id
