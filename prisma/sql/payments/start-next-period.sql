-- Starts the next period of a subscription with its order. :owed is left to the order after it.
-- @one
UPDATE subscriptions s SET period = s.period + 1, period_start = s.period_end, began_at = NULL,
  period_end = {period-end period=(s.period+1)}, latest_order_id = :order_id, tries = 0, owed_amount = :owed,
  uncredited_amount = 0, paid_items = NULL
FROM prices p
WHERE s.id = :id AND p.id = s.price_id
RETURNING {owned-subscription-columns}
