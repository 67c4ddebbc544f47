-- Sets the number of the current period of a subscription, whose order was not charged yet.
-- @none
UPDATE subscriptions SET period = :period, tries = 0 WHERE id = :id
