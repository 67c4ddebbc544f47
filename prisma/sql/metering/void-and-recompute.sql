-- Voids an event, and computes its hour from the others. The caller has locked the recomputation. Usage that
-- others record meanwhile has rows that this statement does not see. Nothing if it is voided already.
-- @none
WITH voided AS (
  UPDATE usage_events e SET voided_at = payments_now()
  WHERE e.seller = :seller AND e.id = :id AND e.voided_at IS NULL
  RETURNING e.*, date_trunc('hour', e.at, 'UTC') AS hour
), removed_deltas AS (
  DELETE FROM usage_deltas d USING voided v
  WHERE (d.meter_id, d.customer_id, d.hour) = (v.meter_id, v.customer_id, v.hour)
), removed_hours AS (
  DELETE FROM usage_hours h USING voided v
  WHERE (h.meter_id, h.customer_id, h.hour) = (v.meter_id, v.customer_id, v.hour)
), others AS (
  SELECT e.meter_id, e.customer_id, v.hour, e.dimensions, e.quantity, e.value, e.at AS last_at,
    e.id AS last_id
  FROM voided v JOIN usage_events e ON e.meter_id = v.meter_id AND e.customer_id = v.customer_id
    AND e.at >= v.hour AND e.at < v.hour + interval '1 hour'
  WHERE e.voided_at IS NULL AND (e.seller, e.id) <> (v.seller, v.id)
), removed_value AS (
  DELETE FROM usage_values w USING voided v
  WHERE (w.meter_id, w.customer_id, w.hour, w.dimensions, w.value)
      = (v.meter_id, v.customer_id, v.hour, v.dimensions, v.value)
    AND NOT EXISTS (SELECT FROM others o WHERE (o.dimensions, o.value) = (v.dimensions, v.value))
)
INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, {quantity-of-rows}, {last-of-rows}
FROM others u JOIN meters m ON m.id = u.meter_id
WHERE u.value IS NULL
GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
