-- Accepts the gateway's state of a subscription again.
-- @none
UPDATE subscriptions SET sync_pending = false, synced_at = NULL WHERE id = :id AND sync_pending
