-- The number of the period after the latest order of a subscription.
-- @one
SELECT max(period) + 1 AS "period!" FROM orders WHERE subscription_id = :subscription_id
