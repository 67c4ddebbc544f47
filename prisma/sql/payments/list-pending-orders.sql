-- The ids of the pending orders of a subscription.
-- @many
SELECT id FROM orders WHERE subscription_id = :subscription_id AND status = 'pending' ORDER BY id
