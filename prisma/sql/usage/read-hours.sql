-- The recorded requests of a user in each of the last hours, including the current one.
-- @many
WITH hours AS (
  SELECT generate_series(date_trunc('hour', now(), 'UTC') - (:hours::int - 1) * interval '1 hour',
    date_trunc('hour', now(), 'UTC'), interval '1 hour') AS hour
), counts AS (
  SELECT date_trunc('hour', r.created_at, 'UTC') AS hour, sum(r.requests) AS requests,
    sum(r.requests) FILTER (WHERE r.status BETWEEN 400 AND 499) AS client_errors,
    sum(r.requests) FILTER (WHERE r.status >= 500) AS server_errors
  FROM api_requests r
  WHERE r.user_id = :user_id AND r.id > id_at('arq', now() - :hours::int * interval '1 hour')
  GROUP BY 1
)
SELECT h.hour AS "hour!", coalesce(c.requests, 0)::bigint AS "requests!",
  coalesce(c.client_errors, 0)::bigint AS "client_errors!",
  coalesce(c.server_errors, 0)::bigint AS "server_errors!"
FROM hours h LEFT JOIN counts c USING (hour)
ORDER BY 1
