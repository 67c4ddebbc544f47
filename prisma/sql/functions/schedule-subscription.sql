-- Makes a subscription that starts due at the end of its period. Servers of version 1.12 leave that of Stripe
-- to Stripe.
CREATE OR REPLACE FUNCTION schedule_subscription()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.due_at := NEW.period_end;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER subscriptions_schedule BEFORE UPDATE OF status ON subscriptions
  FOR EACH ROW WHEN (
    old.status = 'incomplete' AND new.status = 'active' AND new.due_at IS NULL
    AND new.gateway_reference IS NULL
  )
  EXECUTE FUNCTION schedule_subscription();
