-- The plans that a subscription of a customer may change to: the active recurring prices of its product in
-- its currency. None for a subscription of another customer.
-- @many
-- @type currency Schemas['Currency']
SELECT q.id, q.unit_amount, q.currency, q.interval AS "interval!", q.interval_count AS "interval_count!",
  d.name, q.id = s.price_id AS "is_current!", q.usage IS NOT NULL AS has_usage
FROM subscriptions s JOIN prices p ON p.id = s.price_id JOIN products d ON d.id = p.product_id
  JOIN prices q ON q.product_id = p.product_id AND q.currency = p.currency AND q.interval IS NOT NULL
WHERE s.id = :id AND s.customer_id = :customer_id AND (q.active AND d.active OR q.id = s.price_id)
ORDER BY q.unit_amount, q.id LIMIT :limit
