-- A card or a customer that is deleted here is removed at its gateway, too.
CREATE OR REPLACE FUNCTION forget_at_gateway()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO jobs (queue, group_id, data)
  VALUES ('gateway', OLD.gateway_reference, jsonb_build_object('gateway', OLD.gateway, 'task', TG_ARGV[0],
    'id', OLD.gateway_reference, 'tries', 0));
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER payment_methods_forget AFTER DELETE ON payment_methods
  FOR EACH ROW WHEN (old.gateway_reference IS NOT NULL)
  EXECUTE FUNCTION forget_at_gateway('forget_card');

CREATE OR REPLACE TRIGGER gateway_customers_forget AFTER DELETE ON gateway_customers
  FOR EACH ROW EXECUTE FUNCTION forget_at_gateway('forget_customer');
