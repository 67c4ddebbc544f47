-- Ignores the gateway's state of a subscription until its cancellation is sent there. No row for a
-- subscription that does not exist at the gateway.
-- @optional
UPDATE subscriptions SET sync_pending = true WHERE id = :id AND gateway_reference IS NOT NULL RETURNING id
