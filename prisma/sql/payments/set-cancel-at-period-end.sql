-- Schedules the cancellation of a subscription at the end of its period, or removes it if :canceled_at is
-- null.
-- @one
UPDATE subscriptions s SET cancel_at_period_end = :canceled_at?::timestamptz IS NOT NULL,
  canceled_at = :canceled_at
WHERE id = :id RETURNING {owned-subscription-columns}
