-- What is used of a metered feature, and the end of the period in which it counts: that of the subscription,
-- or the month of the time `now`.
SELECT period.end AS resets_at, CASE WHEN {metered} THEN
  meter_quantity({meter}, {customer}, period.start, greatest(period.end, {now} + interval '5 minutes'))
END AS used
FROM (SELECT
  coalesce({start}, date_trunc('month', {now}, 'UTC')) AS start,
  coalesce({end}, (date_trunc('month', {now} AT TIME ZONE 'UTC') + interval '1 month')
    AT TIME ZONE 'UTC') AS "end"
) period
