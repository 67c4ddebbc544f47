-- Starts the first period of an incomplete subscription: at :start, until :end or for one billing period of
-- its price.
-- No row if the subscription is not incomplete. :renews says whether this platform renews it.
-- @optional
UPDATE subscriptions s SET status = 'active', anchor_at = :start, period = 1, period_start = :start,
  period_end = coalesce(:end?, :start::timestamptz + {period-length periods=1}), card = :card?,
  due_at = CASE WHEN :renews THEN :start::timestamptz + {period-length periods=1} END
FROM prices p
WHERE s.id = :id AND p.id = s.price_id AND s.status = 'incomplete'
RETURNING {owned-subscription-columns}
