-- The time of payments: the clock of the sandbox may be ahead.
CREATE OR REPLACE FUNCTION payments_now()
RETURNS timestamp with time zone
LANGUAGE sql
STABLE
AS $function$
  SELECT statement_timestamp() + "offset" * interval '1 millisecond' FROM "payment_clock"
$function$;
