-- The subscriptions of a customer that have begun: those that have not ended first, then the latest.
-- @many
SELECT s.id, s.status, s.cancel_at_period_end, s.change IS NOT NULL AS "changes!",
  s.period_end, p.currency, p.interval AS "interval!",
  p.interval_count AS "interval_count!", i.name AS "name!", i.amount AS "amount!",
  i.has_usage AS "has_usage!"
FROM subscriptions s JOIN prices p ON p.id = s.price_id, LATERAL (
  SELECT string_agg(concat(r.name, CASE WHEN item.quantity > 1 THEN concat(' × ', item.quantity) END), ', ')
    AS name, sum(q.unit_amount * item.quantity)::bigint AS amount, bool_or(q.usage IS NOT NULL) AS has_usage
  FROM jsonb_to_recordset(coalesce(s.items, jsonb_build_array(
    jsonb_build_object('price_id', s.price_id, 'quantity', s.quantity))))
    item (price_id text, quantity integer)
  JOIN prices q ON q.id = item.price_id JOIN products r ON r.id = q.product_id
) i
WHERE s.customer_id = :customer_id AND s.status <> 'incomplete' AND s.period > 0
ORDER BY s.status = 'canceled', s.id DESC LIMIT :limit
