-- AlterEnum
ALTER TYPE "LedgerAccount" ADD VALUE 'disputes';

-- CreateTable
CREATE TABLE "gateway_customers" (
    "customer_id" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT NOT NULL,

    CONSTRAINT "gateway_customers_pkey" PRIMARY KEY ("customer_id","gateway")
);

-- CreateIndex
CREATE UNIQUE INDEX "gateway_customers_gateway_gateway_reference_key" ON "gateway_customers"("gateway", "gateway_reference");

-- AddForeignKey
ALTER TABLE "gateway_customers" ADD CONSTRAINT "gateway_customers_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Makes a subscription that starts due at the end of its period. Servers of version 1.12 leave that of Stripe
-- to Stripe.
CREATE OR REPLACE FUNCTION schedule_subscription()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.due_at := NEW.period_end;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER subscriptions_schedule BEFORE UPDATE OF status ON subscriptions
  FOR EACH ROW WHEN (
    old.status = 'incomplete' AND new.status = 'active' AND new.due_at IS NULL
    AND new.gateway_reference IS NULL
  )
  EXECUTE FUNCTION schedule_subscription();

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

-- A deleted customer has no cards, is removed at the gateways, and has no way into the portal.
CREATE OR REPLACE FUNCTION forget_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM payment_methods WHERE customer_id = NEW.id;
  DELETE FROM gateway_customers WHERE customer_id = NEW.id;
  DELETE FROM portal_sessions WHERE customer_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER customers_forget AFTER UPDATE OF deleted_at ON customers
  FOR EACH ROW WHEN (new.deleted_at IS NOT NULL)
  EXECUTE FUNCTION forget_customer();
