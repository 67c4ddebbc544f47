-- Makes `payments_now` the time of a customer until the transaction ends. Null: leaves the time as it is.
CREATE OR REPLACE FUNCTION enter_customer_time(customer text)
RETURNS timestamp with time zone
LANGUAGE plpgsql
AS $function$
BEGIN
  IF customer IS NOT NULL THEN
    PERFORM set_config('payments.customer_offset',
      coalesce((SELECT c.clock_offset FROM customers c WHERE c.id = customer), 0)::text, true);
  END IF;
  RETURN payments_now();
END $function$;
