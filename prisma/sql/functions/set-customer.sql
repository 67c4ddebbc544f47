-- Each sale has a customer: a renewal that of the subscription, a checkout session that of the order, and
-- another sale that of its owner. A customer without a user is inserted as the owner, and has no owner then.
-- The seller of the customer sells. The customer of a user is the operator's.
CREATE OR REPLACE FUNCTION set_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.owner_id LIKE 'cus%' THEN
    NEW.customer_id := NEW.owner_id;
    NEW.owner_id := NULL;
  ELSIF TG_TABLE_NAME = 'checkouts' THEN
    SELECT o.customer_id INTO NEW.customer_id FROM orders o WHERE o.id = NEW.order_id;
  ELSIF NEW.customer_id IS NULL AND TG_TABLE_NAME = 'orders' THEN
    SELECT s.customer_id INTO NEW.customer_id FROM subscriptions s WHERE s.id = NEW.subscription_id;
  END IF;
  IF NEW.customer_id IS NULL THEN
    SELECT c.id INTO NEW.customer_id FROM customer_of_user(NEW.owner_id) c;
  END IF;
  IF NEW.owner_id IS NULL THEN
    SELECT c.organization_id INTO NEW.seller_organization_id FROM customers c WHERE c.id = NEW.customer_id;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_set_customer BEFORE INSERT ON checkouts
  FOR EACH ROW EXECUTE FUNCTION set_customer();

CREATE OR REPLACE TRIGGER orders_set_customer BEFORE INSERT ON orders
  FOR EACH ROW EXECUTE FUNCTION set_customer();

CREATE OR REPLACE TRIGGER subscriptions_set_customer BEFORE INSERT ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_customer();
