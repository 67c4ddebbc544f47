-- The time since which a subscription may have new invoices at its gateway, in seconds; null before its first
-- period.
-- One period and one day before the known period: Stripe creates an invoice at the start of its period.
-- @optional
SELECT floor(extract(epoch
  FROM period_start - (period_end - period_start) - interval '1 day'))::bigint AS since
FROM subscriptions
WHERE gateway_reference = :gateway_reference
