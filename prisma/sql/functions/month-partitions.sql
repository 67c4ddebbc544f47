-- The months of the partitioned tables, from their names: `events_2027_01` has the events of January 2027,
-- `events_before_2027_01` all earlier ones. `ends`: the first moment after the partition, in UTC.
CREATE OR REPLACE FUNCTION month_partitions(OUT parent text, OUT name text,
  OUT ends timestamp without time zone)
RETURNS SETOF record
LANGUAGE sql
STABLE
AS $function$
  SELECT p.relname::text, c.relname::text, to_date(right(c.relname, 7), 'YYYY_MM')
    + CASE WHEN c.relname ~ '_before_\d{4}_\d\d$' THEN interval '0' ELSE interval '1 month' END
  FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.oid IN ('public.events'::regclass, 'public.webhook_deliveries'::regclass)
    AND c.relname ~ '_\d{4}_\d\d$'
$function$;
