-- The start of the current day, week (Monday) or month (UTC); without periods: now.
-- @one
SELECT CASE :period::text WHEN 'none' THEN now() ELSE date_trunc(:period, now(), 'UTC') END AS "starts_at!"
