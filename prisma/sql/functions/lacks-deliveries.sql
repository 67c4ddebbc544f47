-- Whether numbered events lack their deliveries. VOLATILE: it sees what `number_events` did in its statement.
CREATE OR REPLACE FUNCTION lacks_deliveries()
RETURNS boolean
LANGUAGE sql
AS $function$
  SELECT delivered_sequence < last_sequence FROM event_log
$function$;
