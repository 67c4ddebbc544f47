-- AlterTable
ALTER TABLE "order_items" ADD COLUMN     "usage" JSONB;

-- AlterTable
ALTER TABLE "prices" ADD COLUMN     "usage" JSONB;

-- CreateTable
CREATE TABLE "usage_periods" (
    "id" BIGSERIAL NOT NULL,
    "subscription_id" TEXT NOT NULL,
    "price_id" TEXT NOT NULL,
    "start_at" TIMESTAMPTZ(3) NOT NULL,
    "end_at" TIMESTAMPTZ(3),
    "free" BOOLEAN NOT NULL DEFAULT false,
    "quantity" DECIMAL(50,12),
    "carried" DECIMAL(50,12) NOT NULL DEFAULT 0,
    "settled" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "usage_periods_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "usage_periods_subscription_id_settled_idx" ON "usage_periods"("subscription_id", "settled");

-- The usage of a price is charged once.
CREATE UNIQUE INDEX usage_periods_open_idx ON usage_periods (subscription_id, price_id) WHERE end_at IS NULL;

-- CreateIndex
CREATE INDEX "usage_periods_price_id_idx" ON "usage_periods"("price_id");

-- AddForeignKey
ALTER TABLE "usage_periods" ADD CONSTRAINT "usage_periods_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "usage_periods" ADD CONSTRAINT "usage_periods_price_id_fkey" FOREIGN KEY ("price_id") REFERENCES "prices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A price never changes; it is archived.
CREATE OR REPLACE FUNCTION require_unchanged_price()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.product_id, OLD.unit_amount, OLD.currency, OLD.interval, OLD.interval_count,
    OLD.trial_days, OLD.usage, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.product_id, NEW.unit_amount, NEW.currency, NEW.interval,
      NEW.interval_count, NEW.trial_days, NEW.usage, NEW.created_at) THEN
    RAISE EXCEPTION 'a price never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'prices_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER prices_fixed BEFORE UPDATE ON prices
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_price();
