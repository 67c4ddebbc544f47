-- Adds recorded usage to that of its hours. The caller has locked it: one process at a time. Of a customer
-- and an hour, the first 100 combinations of dimensions have a row; the usage of others is in the row without
-- dimensions. Returns the number of deltas.
-- @one
WITH taken AS (
  DELETE FROM usage_deltas WHERE id = ANY(ARRAY(
    SELECT id FROM usage_deltas ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
  RETURNING id, meter_id, customer_id, hour, dimensions, quantity, last_at, last_id
), summed AS (
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, min(u.id) AS first_id,
    {quantity-of-rows} AS quantity, max(u.last_at) AS last_at,
    (array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC))[1] AS last_id
  FROM taken u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
), ranked AS (
  SELECT s.*, s.dimensions = '' OR h.hour IS NOT NULL AS has_row,
    row_number() OVER (PARTITION BY s.meter_id, s.customer_id, s.hour, s.dimensions = '' OR h.hour IS NOT NULL
      ORDER BY s.first_id) AS rank
  FROM summed s
  LEFT JOIN usage_hours h USING (meter_id, customer_id, hour, dimensions)
), placed AS (
  SELECT r.meter_id, r.customer_id, r.hour, r.quantity, r.last_at, r.last_id,
    CASE
      WHEN r.has_row THEN r.dimensions
      WHEN r.rank + (SELECT count(*) FROM usage_hours h WHERE h.meter_id = r.meter_id
        AND h.customer_id = r.customer_id AND h.hour = r.hour AND h.dimensions <> '') <= 100 THEN r.dimensions
      ELSE ''
    END AS dimensions
  FROM ranked r
), folded AS (
  INSERT INTO usage_hours AS h (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, {quantity-of-rows}, max(u.last_at),
    (array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC))[1]
  FROM placed u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (meter_id, customer_id, hour, dimensions) DO UPDATE SET
    quantity = CASE (SELECT m.aggregation FROM meters m WHERE m.id = h.meter_id)
      WHEN 'max' THEN greatest(h.quantity, excluded.quantity)
      WHEN 'last' THEN CASE WHEN (excluded.last_at, excluded.last_id) > (h.last_at, h.last_id)
        THEN excluded.quantity ELSE h.quantity END
      ELSE h.quantity + excluded.quantity
    END,
    last_id = CASE WHEN (excluded.last_at, excluded.last_id) > (h.last_at, h.last_id)
      THEN excluded.last_id ELSE h.last_id END,
    last_at = greatest(h.last_at, excluded.last_at)
)
SELECT count(*)::int AS n FROM taken
