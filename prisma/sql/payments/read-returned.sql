-- What customers got back of the orders that pay the present period of a subscription and its changes: the
-- refunds, and the disputes with which the bank takes the money or may do so. Less what
-- reduced the credit of earlier changes of the period.
-- @one
SELECT greatest(0, sum(least(o.total_amount, o.refunded_amount + o.refunding_amount + coalesce((
    SELECT sum(d.amount) FROM disputes d WHERE d.order_id = o.id AND d.status NOT IN ('won',
      'warning_needs_response', 'warning_under_review', 'warning_closed')), 0)))
  - max(s.uncredited_amount))::bigint AS "amount!"
FROM subscriptions s
JOIN orders o ON o.subscription_id = s.id AND o.status IN ('paid', 'partially_refunded', 'refunded')
  AND (o.period = s.period OR (o.period IS NULL AND o.created_at >= {began-at}))
WHERE s.id = :id
