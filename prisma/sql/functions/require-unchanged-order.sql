-- Amount, currency, owner and seller of an order never change.
CREATE OR REPLACE FUNCTION require_unchanged_order()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.credit_amount, OLD.total_amount, OLD.currency, OLD.owner_id, OLD.subscription_id,
    OLD.seller_organization_id, OLD.period, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.credit_amount, NEW.total_amount, NEW.currency, NEW.owner_id,
      NEW.subscription_id, NEW.seller_organization_id, NEW.period, NEW.created_at) THEN
    RAISE EXCEPTION 'the amount of an order never changes' USING ERRCODE = 'check_violation', CONSTRAINT =
      'orders_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_fixed BEFORE UPDATE ON orders
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_order();
