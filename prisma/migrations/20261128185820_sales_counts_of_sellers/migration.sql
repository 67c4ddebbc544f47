-- DropIndex
DROP INDEX "sales_counts_kind_status_idx";

-- AlterTable
ALTER TABLE "sales_counts" ADD COLUMN     "merged" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "seller" TEXT;

-- CreateIndex
CREATE INDEX "sales_counts_kind_seller_status_idx" ON "sales_counts"("kind", "seller", "status");

CREATE INDEX sales_counts_changes_idx ON sales_counts (id) WHERE NOT merged;

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

-- The sales of organizations so far. Creating the triggers has locked the tables against changes.
INSERT INTO sales_counts (kind, seller, status, count)
SELECT 'checkouts', seller_organization_id, status::text, count(*) FROM checkouts
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3
UNION ALL
SELECT 'disputes', seller_organization_id, status::text, count(*) FROM disputes
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3
UNION ALL
SELECT 'orders', seller_organization_id, status::text, count(*) FROM orders
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3
UNION ALL
SELECT 'payments', seller_organization_id, status::text, count(*) FROM payments
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3
UNION ALL
SELECT 'refunds', seller_organization_id, status::text, count(*) FROM refunds
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3
UNION ALL
SELECT 'subscriptions', seller_organization_id, status::text, count(*) FROM subscriptions
WHERE seller_organization_id IS NOT NULL GROUP BY 2, 3;
