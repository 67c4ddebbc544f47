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
