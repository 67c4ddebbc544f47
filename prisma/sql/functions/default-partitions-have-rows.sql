-- Whether an event or a delivery is in no month: `make_partitions` did not run for two months, or the clock
-- of a server is wrong.
CREATE OR REPLACE FUNCTION default_partitions_have_rows()
RETURNS boolean
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM events_default) OR EXISTS (SELECT FROM webhook_deliveries_default)
$function$;
