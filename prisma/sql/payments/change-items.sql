-- Changes the items of a subscription, and removes its scheduled change. :restart starts a new period at :at;
-- :re_anchor counts the later periods from the end of this one, because the billing interval changes.
-- @one
UPDATE subscriptions s SET price_id = :price_id, quantity = :quantity, items = :items?, gateway = :gateway,
  change = NULL, paid_items = :paid_items?, owed_amount = s.owed_amount + :owed,
  uncredited_amount = CASE WHEN :restart THEN 0 ELSE s.uncredited_amount + :uncredited END,
  anchor_at = CASE WHEN :restart THEN :at::timestamptz WHEN :re_anchor THEN s.period_end ELSE s.anchor_at END,
  anchor_period = CASE WHEN :restart OR :re_anchor THEN s.period ELSE s.anchor_period END,
  period = s.period + :restart::int,
  period_start = CASE WHEN :restart THEN :at ELSE s.period_start END,
  began_at = CASE WHEN NOT :restart THEN s.began_at END,
  period_end = CASE WHEN :restart THEN :at::timestamptz + {period-length periods=1} ELSE s.period_end END,
  due_at = CASE WHEN :restart THEN :at::timestamptz + {period-length periods=1}
    WHEN s.status = 'trialing' THEN s.due_at ELSE s.period_end END
FROM prices p
WHERE s.id = :id AND p.id = :price_id
RETURNING {owned-subscription-columns}
