-- Records the time of a subscription's state at its gateway. No row unless the state is the latest. While a
-- cancellation is pending, only the state after it was sent counts.
-- @optional
UPDATE subscriptions SET synced_at = :synced_at, sync_pending = false,
  gateway_reference = coalesce(gateway_reference, :gateway_reference)
WHERE id = :id
  AND CASE WHEN sync_pending THEN :cancellation_sent ELSE synced_at IS NULL OR synced_at < :synced_at END
RETURNING id
