-- The period of a budget at a time, as fixed instants (UTC) from its start on: the 31st is the last day of a
-- shorter month. `since` is null before the start, and `until` without periods.
CREATE OR REPLACE FUNCTION budget_period(period text, starts_at timestamp with time zone,
  at timestamp with time zone, OUT since timestamp with time zone, OUT until timestamp with time zone)
LANGUAGE plpgsql
IMMUTABLE
AS $function$
DECLARE
  base timestamp := starts_at AT TIME ZONE 'UTC';
  here timestamp := at AT TIME ZONE 'UTC';
  length interval := CASE period
    WHEN 'day' THEN interval '24 hours' WHEN 'week' THEN interval '168 hours' END;
  n integer;
BEGIN
  IF at < starts_at THEN
    until := starts_at;
  ELSIF period = 'none' THEN
    since := starts_at;
  ELSIF period = 'month' THEN
    n := (extract(year FROM here) - extract(year FROM base)) * 12 + extract(month FROM here)
      - extract(month FROM base);
    IF base + make_interval(months => n) > here THEN n := n - 1; END IF;
    since := (base + make_interval(months => n)) AT TIME ZONE 'UTC';
    until := (base + make_interval(months => n + 1)) AT TIME ZONE 'UTC';
  ELSE
    n := floor(extract(epoch FROM here - base) / extract(epoch FROM length));
    since := (base + n * length) AT TIME ZONE 'UTC';
    until := (base + (n + 1) * length) AT TIME ZONE 'UTC';
  END IF;
END $function$;
