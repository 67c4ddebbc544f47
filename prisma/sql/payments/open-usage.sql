-- Begins to count the usage of the prices of a subscription, at :at. The period of a price that it has no
-- more ends; the next order charges it.
-- @none
WITH ended AS (
  UPDATE usage_periods u SET end_at = greatest(u.start_at, :at)
  WHERE u.subscription_id = :subscription_id AND u.end_at IS NULL AND u.price_id <> ALL(:price_ids)
)
INSERT INTO usage_periods (subscription_id, price_id, start_at, free)
SELECT :subscription_id, p.id, :at, :free
FROM prices p
WHERE p.id = ANY(:price_ids) AND p.usage IS NOT NULL
ON CONFLICT (subscription_id, price_id) WHERE end_at IS NULL DO NOTHING
