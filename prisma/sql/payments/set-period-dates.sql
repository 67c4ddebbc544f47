-- Sets the start and the end of the current period of a subscription that has started.
-- @none
UPDATE subscriptions SET period_start = :period_start, period_end = :period_end WHERE id = :id AND period > 0
