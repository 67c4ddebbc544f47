-- A subscription, if the state of exactly this time was applied last.
-- @optional
SELECT id FROM subscriptions WHERE id = :id AND synced_at = :synced_at AND NOT sync_pending
