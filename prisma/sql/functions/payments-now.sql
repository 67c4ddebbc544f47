-- The time of payments: the clock of the sandbox may be ahead. In a transaction for a customer it is the time
-- of the customer.
CREATE OR REPLACE FUNCTION payments_now()
RETURNS timestamp with time zone
LANGUAGE sql
STABLE
AS $function$
  SELECT statement_timestamp() + ("offset" + coalesce(nullif(current_setting('payments.customer_offset',
    true), ''), '0')::bigint) * interval '1 millisecond' FROM "payment_clock"
$function$;
