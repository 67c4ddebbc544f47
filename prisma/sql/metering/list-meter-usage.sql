-- The usage of a meter from one hour to another, in groups.
-- @page
-- @type dimensions Record<string, string | null>
SELECT g.id, g.start, g.customer_id, g.dimensions, g.quantity
FROM (
  SELECT k.*, coalesce(k.start, 'epoch') AS start_or_none,
    concat_ws('/', :meter_id,
      coalesce(to_char(k.start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '-'),
      coalesce(k.customer_id, '-'), k.dimensions) AS "id!"
  FROM (
    SELECT CASE WHEN :period?::text IS NOT NULL THEN date_trunc(:period?::text, u.hour, 'UTC') END AS start,
      CASE WHEN :by_customer::boolean THEN u.customer_id END AS customer_id,
      coalesce((
        SELECT jsonb_object_agg(p.name, CASE WHEN u.dimensions <> '' THEN u.dimensions::jsonb ->> p.place END)
        FROM unnest(:names::text[], :places::int[]) AS p(name, place)), '{}') AS "dimensions!",
      trim_scale(CASE m.aggregation WHEN 'unique' THEN count(DISTINCT u.value)
        ELSE {quantity-of-rows} END)::text AS "quantity!"
    FROM meters m CROSS JOIN LATERAL (
      SELECT h.customer_id, h.hour, h.dimensions, h.quantity, h.last_at, h.last_id, NULL AS value
      FROM usage_hours h
      WHERE h.meter_id = m.id AND h.hour >= :from AND h.hour < :to
      UNION ALL
      SELECT d.customer_id, d.hour, d.dimensions, d.quantity, d.last_at, d.last_id, NULL
      FROM usage_deltas d
      WHERE d.meter_id = m.id AND d.hour >= :from AND d.hour < :to
      UNION ALL
      SELECT v.customer_id, v.hour, v.dimensions, NULL, NULL, NULL, v.value
      FROM usage_values v
      WHERE v.meter_id = m.id AND v.hour >= :from AND v.hour < :to
    ) u
    WHERE m.id = :meter_id AND (:customer_id?::text IS NULL OR u.customer_id = :customer_id?)
    GROUP BY 1, 2, 3, m.aggregation
  ) k
) g
WHERE true
-- @sort start
g.start_or_none
-- @id
g.id
