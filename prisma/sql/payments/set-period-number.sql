-- Sets the number of the current period of a subscription.
-- @none
UPDATE subscriptions SET period = :period WHERE id = :id
