-- Voids an event of a meter that adds up, and subtracts what it counts. Nothing if it is voided already.
-- @none
WITH voided AS (
  UPDATE usage_events e SET voided_at = payments_now()
  WHERE e.seller = :seller AND e.id = :id AND e.voided_at IS NULL
  RETURNING e.*
)
INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity)
SELECT v.meter_id, v.customer_id, date_trunc('hour', v.at, 'UTC'), v.dimensions, -v.quantity FROM voided v
