-- Refunds. Without a filter: all refunds, for operators.
-- @page
SELECT {refund-columns}
FROM refunds r
WHERE true
-- @filter space_id
coalesce(r.project_id, r.owner_id) = :space_id
-- @filter user_id
r.owner_id = :user_id
-- @filter status
r.status = :status
-- @filter order_id
r.order_id = :order_id
-- @sort created_at
r.id
-- @sort amount
r.amount
-- @id
r.id
-- @total
{count-sales kind='refunds'}
-- @total status
{count-sales kind='refunds'} AND status = :status::"RefundStatus"::text
