-- Moves the time of a customer forward to a time, like `move-clock`.
-- @none
UPDATE customers c SET clock_offset =
  greatest(c.clock_offset, ceil(extract(epoch FROM :to - clock_timestamp()) * 1000)::bigint - p."offset")
FROM payment_clock p
WHERE c.id = :customer_id
