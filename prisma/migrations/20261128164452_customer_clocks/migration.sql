-- AlterTable
ALTER TABLE "customers" ADD COLUMN     "clock_offset" BIGINT NOT NULL DEFAULT 0;

ALTER TABLE customers ADD CONSTRAINT customers_clock_offset CHECK (clock_offset >= 0);
CREATE INDEX customers_clocks_idx ON customers (id) WHERE clock_offset > 0 AND deleted_at IS NULL;

-- The customer of a user who buys from the operator. The first sale makes it. It is locked against deletion,
-- and the transaction has its time.
CREATE OR REPLACE FUNCTION customer_of_user(buyer text, OUT id text, OUT is_new boolean)
RETURNS record
LANGUAGE plpgsql
AS $function$
BEGIN
  -- A deletion locks the user first, too. No name and address is copied that it removes.
  PERFORM FROM users u WHERE u.id = buyer FOR KEY SHARE;
  LOOP
    is_new := false;
    SELECT c.id INTO id FROM customers c
    WHERE c.user_id = buyer AND c.organization_id IS NULL AND c.deleted_at IS NULL FOR SHARE;
    EXIT WHEN FOUND;
    is_new := true;
    INSERT INTO customers AS c (id, user_id, email, name, locale, created_at, updated_at)
    SELECT new_id('cus', payments_now()), buyer, u.email, u.name, u.locale, payments_now(), payments_now()
    FROM (VALUES (buyer)) b (id) LEFT JOIN users u ON u.id = b.id
    ON CONFLICT DO NOTHING RETURNING c.id INTO id;
    EXIT WHEN FOUND;
  END LOOP;
  PERFORM enter_customer_time(id);
END $function$;

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
