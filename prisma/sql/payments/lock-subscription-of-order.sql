-- Locks the subscription of an order against other writers.
-- Reads the subscription's id without a lock: an order never moves to another subscription.
-- @optional
SELECT {owned-subscription-columns}
FROM subscriptions s
WHERE s.id = (SELECT subscription_id FROM orders WHERE id = :order_id)
FOR NO KEY UPDATE OF s
