-- Records what an order charges for the usage of periods, which ends those that are open. Late usage changes
-- a period for :window_days days.
-- @none
UPDATE usage_periods u SET end_at = c.end_at, quantity = c.quantity::numeric, carried = c.carried::numeric,
  settled = c.end_at + :window_days * interval '1 day' <= :at
FROM unnest(:ids::bigint[], :end_ats::timestamptz[], :quantities::text[], :carrieds::text[])
  AS c (id, end_at, quantity, carried)
WHERE u.id = c.id
