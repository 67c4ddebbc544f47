-- Replaces the metadata of a subscription.
-- @one
UPDATE subscriptions s SET metadata = :metadata WHERE id = :id RETURNING {owned-subscription-columns}
