-- AlterEnum
ALTER TYPE "SubscriptionStatus" ADD VALUE 'trialing';
ALTER TYPE "SubscriptionStatus" ADD VALUE 'unpaid';
ALTER TYPE "SubscriptionStatus" ADD VALUE 'paused';

-- AlterTable
ALTER TABLE "prices" ADD COLUMN     "created_by" TEXT;

-- AlterTable
ALTER TABLE "products" ADD COLUMN     "created_by" TEXT;

-- CreateIndex
CREATE INDEX "prices_created_by_id_idx" ON "prices"("created_by", "id");

-- CreateIndex
CREATE INDEX "products_created_by_id_idx" ON "products"("created_by", "id");

-- Prices, orders and payments of 0.
ALTER TABLE prices
  DROP CONSTRAINT prices_amount,
  ADD CONSTRAINT prices_amount CHECK (unit_amount >= 0 AND unit_amount <= 999999999);
ALTER TABLE order_items
  DROP CONSTRAINT order_items_amount,
  ADD CONSTRAINT order_items_amount CHECK (quantity > 0 AND unit_amount >= 0
    AND amount = (quantity * unit_amount));
ALTER TABLE orders
  DROP CONSTRAINT orders_amounts,
  ADD CONSTRAINT orders_amounts CHECK (total_amount >= 0 AND total_amount <= 999999999999
    AND refunded_amount >= 0 AND refunding_amount >= 0
    AND (refunded_amount + refunding_amount) <= total_amount);
ALTER TABLE payments
  DROP CONSTRAINT payments_amount,
  ADD CONSTRAINT payments_amount CHECK (amount >= 0);

CREATE OR REPLACE TRIGGER subscriptions_transition BEFORE UPDATE OF status ON subscriptions
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'incomplete > active',
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
