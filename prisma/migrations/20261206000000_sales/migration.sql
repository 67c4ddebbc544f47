-- Operators read the events about sales, and receive them by webhooks.
CREATE INDEX "events_sales_idx" ON "events"("sequence")
  WHERE "scope" = 'payments:read' AND "sequence" IS NOT NULL;
CREATE INDEX "users_admins_idx" ON "users"("id") WHERE "role" = 'admin';

-- Refunds have a user and a project of their own, for their lists.
ALTER TABLE "refunds" ADD COLUMN "owner_id" TEXT, ADD COLUMN "project_id" TEXT;
UPDATE "refunds" r SET "owner_id" = o."owner_id", "project_id" = o."project_id"
  FROM "orders" o WHERE o."id" = r."order_id";
ALTER TABLE "refunds" ALTER COLUMN "owner_id" SET NOT NULL;
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_project_id_fkey" FOREIGN KEY ("project_id")
  REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_owner_id_fkey" FOREIGN KEY ("owner_id")
  REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- The lists of operators.
DROP INDEX "orders_owner_id_idx";
DROP INDEX "checkouts_owner_id_idx";
DROP INDEX "subscriptions_owner_id_idx";
CREATE INDEX "orders_owner_id_id_idx" ON "orders"("owner_id", "id");
CREATE INDEX "orders_status_id_idx" ON "orders"("status", "id");
CREATE INDEX "orders_total_amount_id_idx" ON "orders"("total_amount", "id");
CREATE INDEX "checkouts_owner_id_id_idx" ON "checkouts"("owner_id", "id");
CREATE INDEX "checkouts_status_id_idx" ON "checkouts"("status", "id");
CREATE INDEX "checkouts_expires_at_id_idx" ON "checkouts"("expires_at", "id");
CREATE INDEX "checkouts_space_idx" ON "checkouts"((coalesce("project_id", "owner_id")), "id");
CREATE INDEX "subscriptions_owner_id_id_idx" ON "subscriptions"("owner_id", "id");
CREATE INDEX "subscriptions_status_id_idx" ON "subscriptions"("status", "id");
CREATE INDEX "subscriptions_all_period_end_idx" ON "subscriptions"
  ((coalesce("period_end", 'infinity')), "id");
CREATE INDEX "refunds_project_id_idx" ON "refunds"("project_id");
CREATE INDEX "refunds_owner_id_id_idx" ON "refunds"("owner_id", "id");
CREATE INDEX "refunds_status_id_idx" ON "refunds"("status", "id");
CREATE INDEX "refunds_amount_id_idx" ON "refunds"("amount", "id");
CREATE INDEX "refunds_space_idx" ON "refunds"((coalesce("project_id", "owner_id")), "id");

-- The totals of these lists. The triggers lock the tables until the rows below are counted.
CREATE TABLE "sales_counts" (
  "id" BIGSERIAL NOT NULL,
  "kind" TEXT NOT NULL,
  "status" TEXT NOT NULL,
  "count" INTEGER NOT NULL,
  CONSTRAINT "sales_counts_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "sales_counts_kind_status_idx" ON "sales_counts"("kind", "status");

CREATE FUNCTION count_sales()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO sales_counts (kind, status, count)
  SELECT TG_TABLE_NAME, status, sum(n)
  FROM (VALUES (OLD.status::text, -1), (NEW.status::text, 1)) changed (status, n)
  WHERE status IS NOT NULL GROUP BY status HAVING sum(n) <> 0;
  RETURN NULL;
END $function$;

CREATE TRIGGER checkouts_count AFTER INSERT OR DELETE OR UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE TRIGGER orders_count AFTER INSERT OR DELETE OR UPDATE OF status ON orders
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE TRIGGER refunds_count AFTER INSERT OR DELETE OR UPDATE OF status ON refunds
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE TRIGGER subscriptions_count AFTER INSERT OR DELETE OR UPDATE OF status ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION count_sales();

INSERT INTO "sales_counts" ("kind", "status", "count")
SELECT 'orders', status::text, count(*) FROM "orders" GROUP BY status
UNION ALL SELECT 'checkouts', status::text, count(*) FROM "checkouts" GROUP BY status
UNION ALL SELECT 'subscriptions', status::text, count(*) FROM "subscriptions" GROUP BY status
UNION ALL SELECT 'refunds', status::text, count(*) FROM "refunds" GROUP BY status;
