-- CreateEnum
CREATE TYPE "LedgerAccount" AS ENUM ('gateway', 'revenue', 'balance', 'held', 'late');

-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "credit_amount" BIGINT NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "prices" ADD COLUMN     "trial_days" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "anchor_period" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "change" JSONB,
ADD COLUMN     "items" JSONB,
ADD COLUMN     "owed_amount" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "paid_items" JSONB,
ADD COLUMN     "paused_at" TIMESTAMPTZ(3),
ADD COLUMN     "resumes_at" TIMESTAMPTZ(3),
ADD COLUMN     "trial_end" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "trials" (
    "customer_id" TEXT NOT NULL,
    "product_id" TEXT NOT NULL,
    "subscription_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "trials_pkey" PRIMARY KEY ("customer_id","product_id")
);

-- CreateTable
CREATE TABLE "ledger_transfers" (
    "id" BIGSERIAL NOT NULL,
    "debit" "LedgerAccount" NOT NULL,
    "credit" "LedgerAccount" NOT NULL,
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "customer_id" TEXT,
    "order_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ledger_transfers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "customer_balances" (
    "customer_id" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,

    CONSTRAINT "customer_balances_pkey" PRIMARY KEY ("customer_id","currency")
);

-- CreateIndex
CREATE INDEX "ledger_transfers_order_id_idx" ON "ledger_transfers"("order_id");

-- CreateIndex
CREATE INDEX "ledger_transfers_customer_id_id_idx" ON "ledger_transfers"("customer_id", "id");

-- Constraints
ALTER TABLE customer_balances
  ADD CONSTRAINT customer_balances_amount CHECK (amount >= 0);
ALTER TABLE ledger_transfers
  ADD CONSTRAINT ledger_transfers_valid CHECK (amount > 0 AND debit <> credit
    AND (customer_id IS NOT NULL OR 'balance' NOT IN (debit, credit)));
ALTER TABLE orders
  DROP CONSTRAINT orders_amounts,
  ADD CONSTRAINT orders_amounts CHECK (total_amount >= 0 AND total_amount <= 999999999999
    AND credit_amount >= 0 AND credit_amount <= 999999999999
    AND refunded_amount >= 0 AND refunding_amount >= 0
    AND (refunded_amount + refunding_amount) <= total_amount),
  DROP CONSTRAINT orders_period,
  ADD CONSTRAINT orders_period CHECK (period IS NULL OR subscription_id IS NOT NULL);
ALTER TABLE prices
  ADD CONSTRAINT prices_trial_days CHECK (trial_days >= 0 AND (trial_days = 0 OR interval IS NOT NULL));
ALTER TABLE subscriptions
  ADD CONSTRAINT subscriptions_owed CHECK (owed_amount >= 0),
  ADD CONSTRAINT subscriptions_paused CHECK ((paused_at IS NULL) OR status IN ('paused', 'canceled'));

-- The ledger of the orders so far.
INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT 'gateway', 'revenue', total_amount, currency, customer_id, id, paid_at
FROM orders WHERE paid_at IS NOT NULL AND total_amount > 0 ORDER BY id;
INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT 'revenue', 'gateway', r.amount, r.currency, o.customer_id, o.id, r.updated_at
FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.status = 'succeeded' ORDER BY r.id;

-- Functions
-- A transfer from or to the account `balance` changes the credit of its customer, which is never negative.
CREATE OR REPLACE FUNCTION change_balance()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.credit = 'balance' THEN
    INSERT INTO customer_balances AS b (customer_id, currency, amount)
    VALUES (NEW.customer_id, NEW.currency, NEW.amount)
    ON CONFLICT (customer_id, currency) DO UPDATE SET amount = b.amount + NEW.amount;
  ELSE
    UPDATE customer_balances SET amount = amount - NEW.amount
    WHERE customer_id = NEW.customer_id AND currency = NEW.currency;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER ledger_transfers_balance AFTER INSERT ON ledger_transfers
  FOR EACH ROW WHEN ('balance' IN (NEW.debit, NEW.credit)) EXECUTE FUNCTION change_balance();

CREATE OR REPLACE TRIGGER ledger_transfers_fixed BEFORE UPDATE OR DELETE ON ledger_transfers
  FOR EACH ROW EXECUTE FUNCTION refuse_update();

-- Amount, currency and owner of an order never change.
CREATE OR REPLACE FUNCTION require_unchanged_order()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.credit_amount, OLD.total_amount, OLD.currency, OLD.owner_id, OLD.subscription_id,
    OLD.period, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.credit_amount, NEW.total_amount, NEW.currency, NEW.owner_id,
      NEW.subscription_id, NEW.period, NEW.created_at) THEN
    RAISE EXCEPTION 'the amount of an order never changes' USING ERRCODE = 'check_violation', CONSTRAINT =
      'orders_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_fixed BEFORE UPDATE ON orders
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_order();

-- A price never changes; it is archived.
CREATE OR REPLACE FUNCTION require_unchanged_price()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.product_id, OLD.unit_amount, OLD.currency, OLD.interval, OLD.interval_count,
    OLD.trial_days, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.product_id, NEW.unit_amount, NEW.currency, NEW.interval,
      NEW.interval_count, NEW.trial_days, NEW.created_at) THEN
    RAISE EXCEPTION 'a price never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'prices_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER prices_fixed BEFORE UPDATE ON prices
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_price();

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
