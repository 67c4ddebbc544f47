-- What a customer used of a meter from a time until another: what every price and entitlement by use counts.
-- It is exact also inside an hour, which the events of the hour say. An hour without events, such as one of a
-- meter that the platform feeds, counts as a whole where it begins. 0 without usage.
CREATE OR REPLACE FUNCTION meter_quantity(meter text, customer text, since timestamp with time zone,
  until timestamp with time zone)
RETURNS numeric
LANGUAGE plpgsql
STABLE
AS $function$
DECLARE
  kind text := (SELECT m.aggregation FROM meters m WHERE m.id = meter);
  -- The whole hours are those from `low` until `high`.
  low timestamptz := date_trunc('hour', since, 'UTC');
  high timestamptz := date_trunc('hour', until, 'UTC');
  -- The parts of hours are those from `since` until `head_end`, and from `tail_start` until `until`.
  head_end timestamptz := since;
  tail_start timestamptz := until;
  quantity numeric;
BEGIN
  IF since >= until THEN RETURN 0; END IF;
  IF low < since THEN
    low := low + interval '1 hour';
    head_end := least(low, until);
  END IF;
  IF low <= high AND high < until THEN
    IF EXISTS (SELECT FROM usage_events e WHERE e.meter_id = meter AND e.customer_id = customer
        AND e.at >= high AND e.at < high + interval '1 hour') THEN
      tail_start := high;
    ELSE
      high := high + interval '1 hour';
    END IF;
  END IF;
  IF kind = 'unique' THEN
    SELECT count(DISTINCT u.value) INTO quantity FROM (
      SELECT v.value FROM usage_values v
      WHERE v.meter_id = meter AND v.customer_id = customer AND v.hour >= low AND v.hour < high
      UNION ALL
      SELECT e.value FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= since AND e.at < head_end
        AND e.voided_at IS NULL
      UNION ALL
      SELECT e.value FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= tail_start AND e.at < until
        AND e.voided_at IS NULL
    ) u;
  ELSE
    SELECT CASE kind
      WHEN 'max' THEN max(u.quantity)
      WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
      ELSE sum(u.quantity)
    END INTO quantity FROM (
      SELECT h.quantity, h.last_at, h.last_id FROM usage_hours h
      WHERE h.meter_id = meter AND h.customer_id = customer AND h.hour >= low AND h.hour < high
      UNION ALL
      SELECT d.quantity, d.last_at, d.last_id FROM usage_deltas d
      WHERE d.meter_id = meter AND d.customer_id = customer AND d.hour >= low AND d.hour < high
      UNION ALL
      SELECT e.quantity, e.at, e.id FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= since AND e.at < head_end
        AND e.voided_at IS NULL
      UNION ALL
      SELECT e.quantity, e.at, e.id FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= tail_start AND e.at < until
        AND e.voided_at IS NULL
    ) u;
  END IF;
  RETURN trim_scale(coalesce(quantity, 0));
END $function$;
