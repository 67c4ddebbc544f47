-- Sets the latest order of a subscription.
-- @one
UPDATE subscriptions s SET latest_order_id = :order_id WHERE id = :id RETURNING {owned-subscription-columns}
