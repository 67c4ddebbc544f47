-- The first order of a subscription.
-- @one
SELECT id FROM orders WHERE subscription_id = :subscription_id AND period = 1
