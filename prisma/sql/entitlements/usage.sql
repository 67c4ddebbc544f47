-- What a customer used of a metered feature in its period.
-- @one
SELECT {used}
FROM (
  SELECT :meter_id::text AS meter, :customer_id::text AS customer, :now::timestamptz AS now,
    :start?::timestamptz AS start, :end?::timestamptz AS "end", :limit?::numeric AS maximum
) l
  CROSS JOIN LATERAL (
    {period metered=true meter=l.meter customer=l.customer now=l.now start=l.start end=l.end}
  ) m
