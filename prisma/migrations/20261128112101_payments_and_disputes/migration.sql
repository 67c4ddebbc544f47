-- CreateEnum
CREATE TYPE "DisputeStatus" AS ENUM ('needs_response', 'under_review', 'won', 'lost', 'warning_needs_response', 'warning_under_review', 'warning_closed', 'prevented', 'appeal_needs_response', 'appeal_under_review');

-- CreateTable
CREATE TABLE "disputes" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT,
    "payment_id" TEXT NOT NULL,
    "status" "DisputeStatus" NOT NULL,
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "evidence_due_at" TIMESTAMPTZ(3),
    "gateway_reference" TEXT,
    "synced_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "disputes_pkey" PRIMARY KEY ("id")
);

-- Orders are locked before payments, as by the transactions of running servers.
-- AddForeignKey
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "owner_id" TEXT,
ADD COLUMN     "project_id" TEXT,
ADD COLUMN     "subscription_id" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "disputes_gateway_reference_key" ON "disputes"("gateway_reference");

-- CreateIndex
CREATE INDEX "disputes_order_id_id_idx" ON "disputes"("order_id", "id");

-- CreateIndex
CREATE INDEX "disputes_payment_id_id_idx" ON "disputes"("payment_id", "id");

-- CreateIndex
CREATE INDEX "disputes_project_id_idx" ON "disputes"("project_id");

-- CreateIndex
CREATE INDEX "disputes_owner_id_id_idx" ON "disputes"("owner_id", "id");

-- CreateIndex
CREATE INDEX "disputes_status_id_idx" ON "disputes"("status", "id");

-- CreateIndex
CREATE INDEX "disputes_updated_at_idx" ON "disputes"("updated_at", "id");

-- CreateIndex
CREATE INDEX "payments_project_id_idx" ON "payments"("project_id");

-- CreateIndex
CREATE INDEX "payments_owner_id_id_idx" ON "payments"("owner_id", "id");

-- CreateIndex
CREATE INDEX "payments_subscription_id_id_idx" ON "payments"("subscription_id", "id");

-- CreateIndex
CREATE INDEX "payments_status_id_idx" ON "payments"("status", "id");

-- CreateIndex
CREATE INDEX "payments_updated_at_idx" ON "payments"("updated_at", "id");

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_payment_id_fkey" FOREIGN KEY ("payment_id") REFERENCES "payments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A payment has the project, the owner and the subscription of its order, so that its lists need no join.
CREATE OR REPLACE FUNCTION copy_order_to_payment()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  SELECT project_id, owner_id, subscription_id INTO NEW.project_id, NEW.owner_id, NEW.subscription_id
  FROM orders WHERE id = NEW.order_id;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER payments_copy_order BEFORE INSERT ON payments
  FOR EACH ROW EXECUTE FUNCTION copy_order_to_payment();

CREATE OR REPLACE TRIGGER disputes_count AFTER INSERT OR DELETE OR UPDATE OF status ON disputes
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER payments_count AFTER INSERT OR DELETE OR UPDATE OF status ON payments
  FOR EACH ROW EXECUTE FUNCTION count_sales();

UPDATE payments p
SET project_id = o.project_id, owner_id = o.owner_id, subscription_id = o.subscription_id
FROM orders o WHERE o.id = p.order_id;
INSERT INTO sales_counts (kind, status, count)
SELECT 'payments', status::text, count(*) FROM payments GROUP BY status;

CREATE INDEX payments_workspace_idx ON payments (coalesce(project_id, owner_id), id);
CREATE INDEX disputes_workspace_idx ON disputes (coalesce(project_id, owner_id), id);
CREATE INDEX disputes_due_idx ON disputes (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE disputes
  ADD CONSTRAINT disputes_amount CHECK (amount >= 0);
