-- Reactivates a past-due or unpaid subscription. No row if it is neither. Of one that was unpaid, the period
-- begins at :at: it was not served before. What its gateway bills is never due.
-- @optional
UPDATE subscriptions s SET status = 'active', tries = 0,
  anchor_at = CASE WHEN {is-restarted} THEN :at::timestamptz ELSE s.anchor_at END,
  anchor_period = CASE WHEN {is-restarted} THEN s.period - 1 ELSE s.anchor_period END,
  period_start = CASE WHEN {is-restarted} THEN :at ELSE s.period_start END,
  began_at = CASE WHEN NOT ({is-restarted}) THEN s.began_at END,
  period_end = CASE WHEN {is-restarted} THEN :at + {period-length periods=1} ELSE s.period_end END,
  due_at = CASE WHEN {is-restarted} THEN :at + {period-length periods=1}
    WHEN s.gateway_reference IS NULL THEN s.period_end END
FROM prices p
WHERE s.id = :id AND p.id = s.price_id AND s.status IN ('past_due', 'unpaid')
RETURNING {owned-subscription-columns}
