-- The usage of a subscription that no order or a correction charges: its periods that are open or can change,
-- counted until :at. Events of the first hour of a period that is longer ago than :kept_days may be deleted:
-- its quantity stays.
-- @type terms Schemas['PriceUsage']
-- @type currency Schemas['Currency']
-- @many
SELECT u.id, u.price_id, u.start_at, coalesce(u.end_at, greatest(:at, u.start_at)) AS "end_at!",
  u.end_at IS NULL AS is_open, u.free, coalesce(u.quantity, 0)::text AS "charged!",
  u.carried::text AS "carried!",
  CASE WHEN u.quantity IS NULL OR u.start_at > :at::timestamptz - :kept_days * interval '1 day'
    THEN meter_quantity(p.usage->>'meter_id', :customer_id, u.start_at,
      coalesce(u.end_at, greatest(:at, u.start_at)))
    ELSE u.quantity END::text AS "counted!",
  p.usage AS "terms!", p.currency, d.name, m.unit AS "unit?"
FROM usage_periods u
JOIN prices p ON p.id = u.price_id
JOIN products d ON d.id = p.product_id
LEFT JOIN meters m ON m.id = p.usage->>'meter_id'
WHERE u.subscription_id = :subscription_id AND NOT u.settled
ORDER BY u.price_id, u.id
