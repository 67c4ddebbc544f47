-- A status changes only as the arguments of the trigger allow.
CREATE OR REPLACE FUNCTION require_allowed_transition()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.status <> NEW.status AND NOT (OLD.status::text || ' > ' || NEW.status::text = ANY (TG_ARGV)) THEN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_transition BEFORE UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION require_allowed_transition('open > complete', 'open > expired');

CREATE OR REPLACE TRIGGER orders_transition BEFORE UPDATE OF status ON orders
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'pending > paid',
    'pending > canceled',
    'paid > partially_refunded',
    'paid > refunded',
    'partially_refunded > refunded'
  );

CREATE OR REPLACE TRIGGER payments_transition BEFORE UPDATE OF status ON payments
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'requires_confirmation > processing',
    'requires_confirmation > succeeded',
    'requires_confirmation > failed',
    'processing > succeeded',
    'processing > failed',
    'requires_confirmation > returning',
    'processing > returning',
    'failed > succeeded',
    'failed > returning',
    'returning > returned'
  );

CREATE OR REPLACE TRIGGER refunds_transition BEFORE UPDATE OF status ON refunds
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition('pending > succeeded', 'pending > failed');

CREATE OR REPLACE TRIGGER subscriptions_transition BEFORE UPDATE OF status ON subscriptions
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'incomplete > active',
    'incomplete > trialing',
    'incomplete > canceled',
    'trialing > active',
    'trialing > past_due',
    'trialing > unpaid',
    'trialing > paused',
    'trialing > canceled',
    'active > trialing',
    'active > past_due',
    'active > unpaid',
    'active > paused',
    'active > canceled',
    'past_due > trialing',
    'past_due > active',
    'past_due > unpaid',
    'past_due > paused',
    'past_due > canceled',
    'unpaid > trialing',
    'unpaid > active',
    'unpaid > past_due',
    'unpaid > paused',
    'unpaid > canceled',
    'paused > trialing',
    'paused > active',
    'paused > past_due',
    'paused > unpaid',
    'paused > canceled'
  );
