-- Starts the first period of an incomplete subscription: at :start, until the end of its trial, until :end or
-- for one billing period of its price.
-- No row if the subscription is not incomplete. A trial is due three days before its end; what its gateway
-- bills is never due.
-- @optional
UPDATE subscriptions s SET
  status = CASE WHEN s.trial_end IS NULL THEN 'active' ELSE 'trialing' END::"SubscriptionStatus",
  anchor_at = coalesce(s.trial_end, :start), anchor_period = CASE WHEN s.trial_end IS NULL THEN 0 ELSE 1 END,
  period = 1, period_start = :start,
  period_end = coalesce(s.trial_end, :end?, :start::timestamptz + {period-length periods=1}),
  due_at = CASE WHEN s.gateway_reference IS NOT NULL THEN NULL
    WHEN s.trial_end IS NULL THEN :start::timestamptz + {period-length periods=1}
    ELSE greatest(:start, s.trial_end - interval '3 days') END
FROM prices p
WHERE s.id = :id AND p.id = s.price_id AND s.status = 'incomplete'
RETURNING {owned-subscription-columns}
