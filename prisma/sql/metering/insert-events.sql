-- Inserts events, except those whose id is there already, and adds their usage. No row is updated, so
-- requests for the same customer do not wait for each other; events of the same ids do, in one order. Returns
-- the number of new events.
-- @one
WITH added AS (
  INSERT INTO usage_events AS e (seller, id, meter_id, customer_id, at, quantity, value, dimensions)
  SELECT :seller, s.id, s.meter_id, s.customer_id, s.at, s.quantity, s.value, s.dimensions
  FROM unnest(:ids::text[], :meters::text[], :customers::text[], :times::timestamptz[],
    :quantities[?]::numeric[], :values[?]::text[], :dimensions::text[]) WITH ORDINALITY
    AS s(id, meter_id, customer_id, at, quantity, value, dimensions, n)
  ORDER BY s.id COLLATE "C", s.n
  ON CONFLICT (seller, id) DO NOTHING
  RETURNING id, meter_id, customer_id, at, quantity, value, dimensions
), deltas AS (
  INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, {quantity-of-rows}, {last-of-rows}
  FROM (
    SELECT a.meter_id, a.customer_id, date_trunc('hour', a.at, 'UTC') AS hour, a.dimensions, a.quantity,
      a.at AS last_at, a.id AS last_id
    FROM added a
    WHERE a.value IS NULL
  ) u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
), different AS (
  INSERT INTO usage_values (meter_id, customer_id, hour, dimensions, value)
  SELECT DISTINCT a.meter_id, a.customer_id, date_trunc('hour', a.at, 'UTC'), a.dimensions, a.value
  FROM added a
  WHERE a.value IS NOT NULL
  ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT DO NOTHING
)
SELECT count(*)::int AS "accepted!" FROM added
