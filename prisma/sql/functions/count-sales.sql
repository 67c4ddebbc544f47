-- Counts the orders, checkout sessions, subscriptions, payments, refunds and disputes of sellers by status.
-- Each change is a row of its own, so that concurrent payments do not wait for each other.
CREATE OR REPLACE FUNCTION count_sales()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO sales_counts (kind, seller, status, count)
  SELECT TG_TABLE_NAME, coalesce(NEW.seller_organization_id, OLD.seller_organization_id), status, sum(n)
  FROM (VALUES (OLD.status::text, -1), (NEW.status::text, 1)) changed (status, n)
  WHERE status IS NOT NULL
  GROUP BY status HAVING sum(n) <> 0;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_count AFTER INSERT OR DELETE OR UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER disputes_count AFTER INSERT OR DELETE OR UPDATE OF status ON disputes
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER orders_count AFTER INSERT OR DELETE OR UPDATE OF status ON orders
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER payments_count AFTER INSERT OR DELETE OR UPDATE OF status ON payments
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER refunds_count AFTER INSERT OR DELETE OR UPDATE OF status ON refunds
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER subscriptions_count AFTER INSERT OR DELETE OR UPDATE OF status ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION count_sales();
