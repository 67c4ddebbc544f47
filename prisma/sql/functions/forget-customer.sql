-- A deleted customer has no cards and no overrides, is removed at the gateways, and has no way into the
-- portal. A job deletes the usage.
CREATE OR REPLACE FUNCTION forget_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM payment_methods WHERE customer_id = NEW.id;
  DELETE FROM gateway_customers WHERE customer_id = NEW.id;
  DELETE FROM portal_sessions WHERE customer_id = NEW.id;
  DELETE FROM entitlement_overrides WHERE customer_id = NEW.id;
  INSERT INTO forgotten_usage (customer_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER customers_forget AFTER UPDATE OF deleted_at ON customers
  FOR EACH ROW WHEN (new.deleted_at IS NOT NULL)
  EXECUTE FUNCTION forget_customer();
