-- Continues a paused subscription at :at: the rest of its period begins then, and later periods are counted
-- from its end.
-- @one
UPDATE subscriptions s SET paused_at = NULL, resumes_at = NULL,
  status = CASE WHEN s.trial_end = s.period_end THEN 'trialing' ELSE 'active' END::"SubscriptionStatus",
  trial_end = CASE WHEN s.trial_end = s.period_end THEN s.trial_end + (:at - s.paused_at)
    ELSE s.trial_end END,
  began_at = {began-at}, period_start = s.period_start + (:at::timestamptz - s.paused_at),
  period_end = s.period_end + (:at - s.paused_at), anchor_at = s.period_end + (:at - s.paused_at),
  anchor_period = s.period,
  due_at = CASE WHEN s.trial_end = s.period_end
    THEN greatest(:at, s.period_end + (:at - s.paused_at) - interval '3 days')
    ELSE s.period_end + (:at - s.paused_at) END
WHERE id = :id RETURNING {owned-subscription-columns}
