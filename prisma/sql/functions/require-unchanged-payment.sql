-- Amount and currency of a payment or refund never change.
CREATE OR REPLACE FUNCTION require_unchanged_payment()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.order_id, OLD.amount, OLD.currency) IS DISTINCT FROM ROW(NEW.id, NEW.order_id,
    NEW.amount, NEW.currency) THEN
    RAISE EXCEPTION 'the amount of % never changes', TG_TABLE_NAME USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_TABLE_NAME || '_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER payments_fixed BEFORE UPDATE ON payments
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_payment();

CREATE OR REPLACE TRIGGER refunds_fixed BEFORE UPDATE ON refunds
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_payment();
