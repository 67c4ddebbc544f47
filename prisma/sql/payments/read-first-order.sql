-- The ID of the order for a subscription's first period.
-- @one
SELECT id FROM orders WHERE subscription_id = :subscription_id AND period = 1
