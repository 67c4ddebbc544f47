-- A payment has the project, the owner, the seller and the subscription of its order, so that its lists need
-- no join.
CREATE OR REPLACE FUNCTION copy_order_to_payment()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  SELECT project_id, owner_id, seller_organization_id, subscription_id
  INTO NEW.project_id, NEW.owner_id, NEW.seller_organization_id, NEW.subscription_id
  FROM orders WHERE id = NEW.order_id;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER payments_copy_order BEFORE INSERT ON payments
  FOR EACH ROW EXECUTE FUNCTION copy_order_to_payment();
