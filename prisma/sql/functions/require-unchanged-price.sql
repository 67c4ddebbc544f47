-- A price never changes; it is archived.
CREATE OR REPLACE FUNCTION require_unchanged_price()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.product_id, OLD.unit_amount, OLD.currency, OLD.interval, OLD.interval_count,
    OLD.trial_days, OLD.usage, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.product_id, NEW.unit_amount, NEW.currency, NEW.interval,
      NEW.interval_count, NEW.trial_days, NEW.usage, NEW.created_at) THEN
    RAISE EXCEPTION 'a price never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'prices_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER prices_fixed BEFORE UPDATE ON prices
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_price();
