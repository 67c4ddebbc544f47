-- The day (UTC).
(now() AT TIME ZONE 'UTC')::date
