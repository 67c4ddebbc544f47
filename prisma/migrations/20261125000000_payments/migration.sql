-- CreateEnum
CREATE TYPE "PriceInterval" AS ENUM ('day', 'week', 'month', 'year');

-- CreateEnum
CREATE TYPE "OrderStatus" AS ENUM ('pending', 'paid', 'partially_refunded', 'refunded', 'canceled');

-- CreateEnum
CREATE TYPE "CheckoutMode" AS ENUM ('payment', 'subscription');

-- CreateEnum
CREATE TYPE "CheckoutStatus" AS ENUM ('open', 'complete', 'expired');

-- CreateEnum
CREATE TYPE "PaymentStatus" AS ENUM ('requires_confirmation', 'processing', 'succeeded', 'failed', 'returning', 'returned');

-- CreateEnum
CREATE TYPE "RefundStatus" AS ENUM ('pending', 'succeeded', 'failed');

-- CreateEnum
CREATE TYPE "SubscriptionStatus" AS ENUM ('incomplete', 'active', 'past_due', 'canceled');

-- CreateTable
CREATE TABLE "products" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "products_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "prices" (
    "id" TEXT NOT NULL,
    "product_id" TEXT NOT NULL,
    "unit_amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "interval" "PriceInterval",
    "interval_count" INTEGER,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" TEXT NOT NULL,
    "number" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "status" "OrderStatus" NOT NULL DEFAULT 'pending',
    "currency" TEXT NOT NULL,
    "total_amount" BIGINT NOT NULL,
    "refunded_amount" BIGINT NOT NULL DEFAULT 0,
    "refunding_amount" BIGINT NOT NULL DEFAULT 0,
    "checkout_id" TEXT,
    "subscription_id" TEXT,
    "period" INTEGER,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "paid_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "order_items" (
    "order_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "price_id" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "unit_amount" BIGINT NOT NULL,
    "amount" BIGINT NOT NULL,

    CONSTRAINT "order_items_pkey" PRIMARY KEY ("order_id","position")
);

-- CreateTable
CREATE TABLE "checkouts" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "mode" "CheckoutMode" NOT NULL,
    "status" "CheckoutStatus" NOT NULL DEFAULT 'open',
    "order_id" TEXT NOT NULL,
    "owns_order" BOOLEAN NOT NULL,
    "subscription_id" TEXT,
    "amount_total" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "success_url" TEXT NOT NULL,
    "cancel_url" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "gateway_url" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "checkouts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payments" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "checkout_id" TEXT,
    "status" "PaymentStatus" NOT NULL,
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "card" JSONB,
    "failure_code" TEXT,
    "due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refunds" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "payment_id" TEXT NOT NULL,
    "status" "RefundStatus" NOT NULL DEFAULT 'pending',
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "reason" TEXT,
    "gateway_reference" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscriptions" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "status" "SubscriptionStatus" NOT NULL DEFAULT 'incomplete',
    "price_id" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "anchor_at" TIMESTAMPTZ(3),
    "period" INTEGER NOT NULL DEFAULT 0,
    "period_start" TIMESTAMPTZ(3),
    "period_end" TIMESTAMPTZ(3),
    "cancel_at_period_end" BOOLEAN NOT NULL DEFAULT false,
    "canceled_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "latest_order_id" TEXT,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "told_at" TIMESTAMPTZ(3),
    "card" JSONB,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3),
    "abandoned" BOOLEAN NOT NULL DEFAULT false,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gateway_events" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "gateway_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment_clock" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "offset" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "payment_clock_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "prices_product_id_id_idx" ON "prices"("product_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "orders_number_key" ON "orders"("number");

-- CreateIndex
CREATE INDEX "orders_space_id_id_idx" ON "orders"("space_id", "id");

-- CreateIndex
CREATE INDEX "orders_space_id_total_amount_id_idx" ON "orders"("space_id", "total_amount", "id");

-- CreateIndex
CREATE INDEX "orders_project_id_idx" ON "orders"("project_id");

-- CreateIndex
CREATE INDEX "orders_owner_id_idx" ON "orders"("owner_id");

-- CreateIndex
CREATE UNIQUE INDEX "orders_subscription_id_period_key" ON "orders"("subscription_id", "period");

-- CreateIndex
CREATE INDEX "order_items_price_id_idx" ON "order_items"("price_id");

-- CreateIndex
CREATE UNIQUE INDEX "checkouts_gateway_reference_key" ON "checkouts"("gateway_reference");

-- CreateIndex
CREATE INDEX "checkouts_order_id_idx" ON "checkouts"("order_id");

-- CreateIndex
CREATE INDEX "checkouts_subscription_id_idx" ON "checkouts"("subscription_id");

-- CreateIndex
CREATE INDEX "checkouts_project_id_idx" ON "checkouts"("project_id");

-- CreateIndex
CREATE INDEX "checkouts_owner_id_idx" ON "checkouts"("owner_id");

-- CreateIndex
CREATE INDEX "payments_order_id_id_idx" ON "payments"("order_id", "id");

-- CreateIndex
CREATE INDEX "payments_checkout_id_id_idx" ON "payments"("checkout_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "payments_gateway_gateway_reference_key" ON "payments"("gateway", "gateway_reference");

-- CreateIndex
CREATE UNIQUE INDEX "refunds_gateway_reference_key" ON "refunds"("gateway_reference");

-- CreateIndex
CREATE INDEX "refunds_order_id_id_idx" ON "refunds"("order_id", "id");

-- CreateIndex
CREATE INDEX "refunds_payment_id_idx" ON "refunds"("payment_id");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_gateway_reference_key" ON "subscriptions"("gateway_reference");

-- CreateIndex
CREATE INDEX "subscriptions_space_id_id_idx" ON "subscriptions"("space_id", "id");

-- CreateIndex
CREATE INDEX "subscriptions_space_id_period_end_id_idx" ON "subscriptions"("space_id", "period_end", "id");

-- CreateIndex
CREATE INDEX "subscriptions_project_id_idx" ON "subscriptions"("project_id");

-- CreateIndex
CREATE INDEX "subscriptions_owner_id_idx" ON "subscriptions"("owner_id");

-- CreateIndex
CREATE INDEX "subscriptions_price_id_idx" ON "subscriptions"("price_id");

-- CreateIndex
CREATE INDEX "gateway_events_received_at_idx" ON "gateway_events"("received_at");

-- AddForeignKey
ALTER TABLE "prices" ADD CONSTRAINT "prices_product_id_fkey" FOREIGN KEY ("product_id") REFERENCES "products"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_price_id_fkey" FOREIGN KEY ("price_id") REFERENCES "prices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_checkout_id_fkey" FOREIGN KEY ("checkout_id") REFERENCES "checkouts"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_payment_id_fkey" FOREIGN KEY ("payment_id") REFERENCES "payments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_price_id_fkey" FOREIGN KEY ("price_id") REFERENCES "prices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

ALTER TABLE "prices"
  ADD CONSTRAINT "prices_amount" CHECK ("unit_amount" BETWEEN 1 AND 999999999),
  ADD CONSTRAINT "prices_recurring" CHECK (("interval" IS NULL) = ("interval_count" IS NULL) AND "interval_count" BETWEEN 1 AND 1095);
ALTER TABLE "orders"
  ADD CONSTRAINT "orders_space" CHECK ("space_id" = coalesce("project_id", "owner_id")),
  ADD CONSTRAINT "orders_amounts" CHECK ("total_amount" BETWEEN 1 AND 999999999999 AND "refunded_amount" >= 0 AND "refunding_amount" >= 0
    AND "refunded_amount" + "refunding_amount" <= "total_amount"),
  ADD CONSTRAINT "orders_paid" CHECK (("status" IN ('pending', 'canceled')) = ("paid_at" IS NULL)),
  ADD CONSTRAINT "orders_refunded" CHECK (CASE "status"
    WHEN 'refunded' THEN "refunded_amount" = "total_amount"
    WHEN 'partially_refunded' THEN "refunded_amount" > 0 AND "refunded_amount" < "total_amount"
    WHEN 'paid' THEN "refunded_amount" = 0
    ELSE "refunded_amount" = 0 AND "refunding_amount" = 0 END),
  ADD CONSTRAINT "orders_period" CHECK (("subscription_id" IS NULL) = ("period" IS NULL));
ALTER TABLE "order_items"
  ADD CONSTRAINT "order_items_amount" CHECK ("quantity" > 0 AND "unit_amount" > 0 AND "amount" = "quantity" * "unit_amount");
ALTER TABLE "payments"
  ADD CONSTRAINT "payments_amount" CHECK ("amount" > 0),
  ADD CONSTRAINT "payments_due" CHECK ("due_at" IS NULL OR "status" = 'processing');
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_amount" CHECK ("amount" > 0);
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_mode" CHECK (("mode" = 'subscription') = ("subscription_id" IS NOT NULL));
ALTER TABLE "subscriptions"
  ADD CONSTRAINT "subscriptions_space" CHECK ("space_id" = coalesce("project_id", "owner_id")),
  ADD CONSTRAINT "subscriptions_begun" CHECK (("period" = 0) = ("anchor_at" IS NULL) AND ("period" = 0) = ("period_end" IS NULL)
    AND ("period" = 0) = ("period_start" IS NULL) AND ("period" > 0 OR "status" IN ('incomplete', 'canceled'))),
  ADD CONSTRAINT "subscriptions_ended" CHECK (("status" = 'canceled') = ("ended_at" IS NOT NULL) AND ("ended_at" IS NULL OR "due_at" IS NULL));
ALTER TABLE "payment_clock" ADD CONSTRAINT "payment_clock_one" CHECK ("id" = 1 AND "offset" >= 0);

-- One way to pay an order at a time, and one payment that pays it.
CREATE UNIQUE INDEX "checkouts_open_idx" ON "checkouts"("order_id") WHERE "status" = 'open';
CREATE UNIQUE INDEX "payments_succeeded_idx" ON "payments"("order_id") WHERE "status" = 'succeeded';
-- What time brings about.
CREATE INDEX "checkouts_expiring_idx" ON "checkouts"("expires_at") WHERE "status" = 'open' AND "gateway_reference" IS NULL;
CREATE INDEX "payments_due_idx" ON "payments"("due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "subscriptions_due_idx" ON "subscriptions"("due_at") WHERE "due_at" IS NOT NULL;
CREATE INDEX "products_name_idx" ON "products"(lower("name"), "id");

-- States change as they may, whatever the statement says that changes them.
CREATE FUNCTION "only_transitions"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status <> NEW.status AND NOT (OLD.status::text || ' > ' || NEW.status::text = ANY (TG_ARGV)) THEN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "orders_transition" BEFORE UPDATE OF "status" ON "orders" FOR EACH ROW EXECUTE FUNCTION "only_transitions"(
  'pending > paid', 'pending > canceled', 'paid > partially_refunded', 'paid > refunded', 'partially_refunded > refunded');
CREATE TRIGGER "checkouts_transition" BEFORE UPDATE OF "status" ON "checkouts" FOR EACH ROW EXECUTE FUNCTION "only_transitions"(
  'open > complete', 'open > expired');
CREATE TRIGGER "payments_transition" BEFORE UPDATE OF "status" ON "payments" FOR EACH ROW EXECUTE FUNCTION "only_transitions"(
  'requires_confirmation > processing', 'requires_confirmation > succeeded', 'requires_confirmation > failed',
  'processing > succeeded', 'processing > failed', 'requires_confirmation > returning', 'processing > returning', 'returning > returned');
CREATE TRIGGER "refunds_transition" BEFORE UPDATE OF "status" ON "refunds" FOR EACH ROW EXECUTE FUNCTION "only_transitions"(
  'pending > succeeded', 'pending > failed');
CREATE TRIGGER "subscriptions_transition" BEFORE UPDATE OF "status" ON "subscriptions" FOR EACH ROW EXECUTE FUNCTION "only_transitions"(
  'incomplete > active', 'incomplete > canceled', 'active > past_due', 'active > canceled', 'past_due > active', 'past_due > canceled');

-- What was agreed on never changes.
CREATE FUNCTION "only_archived"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ROW(OLD.id, OLD.product_id, OLD.unit_amount, OLD.currency, OLD.interval, OLD.interval_count, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.product_id, NEW.unit_amount, NEW.currency, NEW.interval, NEW.interval_count, NEW.created_at) THEN
    RAISE EXCEPTION 'a price never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'prices_fixed';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "prices_fixed" BEFORE UPDATE ON "prices" FOR EACH ROW EXECUTE FUNCTION "only_archived"();
CREATE FUNCTION "same_amount"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ROW(OLD.id, OLD.total_amount, OLD.currency, OLD.owner_id, OLD.subscription_id, OLD.period, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.total_amount, NEW.currency, NEW.owner_id, NEW.subscription_id, NEW.period, NEW.created_at) THEN
    RAISE EXCEPTION 'the amount of an order never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'orders_fixed';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "orders_fixed" BEFORE UPDATE ON "orders" FOR EACH ROW EXECUTE FUNCTION "same_amount"();
CREATE FUNCTION "same_money"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF ROW(OLD.id, OLD.order_id, OLD.amount, OLD.currency) IS DISTINCT FROM ROW(NEW.id, NEW.order_id, NEW.amount, NEW.currency) THEN
    RAISE EXCEPTION 'the amount of % never changes', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_fixed';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "payments_fixed" BEFORE UPDATE ON "payments" FOR EACH ROW EXECUTE FUNCTION "same_money"();
CREATE TRIGGER "refunds_fixed" BEFORE UPDATE ON "refunds" FOR EACH ROW EXECUTE FUNCTION "same_money"();
CREATE FUNCTION "never"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% never change', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_fixed';
END $$;
CREATE TRIGGER "order_items_fixed" BEFORE UPDATE ON "order_items" FOR EACH ROW EXECUTE FUNCTION "never"();

INSERT INTO "payment_clock" ("id") VALUES (1);
-- The time of payments: the sandbox's clock may be ahead of others. Of two statements the later has the later time, also where it waited for a
-- lock in a transaction that began earlier.
CREATE FUNCTION "payments_now"() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT statement_timestamp() + "offset" * interval '1 millisecond' FROM "payment_clock"
$$;

-- What stands for money outlives its project, however that is removed: it is then its owner's alone. A subscription is due at once, to end.
CREATE FUNCTION "outlive_project"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.space_id := coalesce(NEW.project_id, NEW.owner_id);
  IF TG_TABLE_NAME = 'subscriptions' THEN
    NEW.abandoned := NEW.project_id IS NULL;
    IF NEW.abandoned AND NEW.ended_at IS NULL THEN
      NEW.due_at := payments_now();
    END IF;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "orders_outlive" BEFORE UPDATE OF "project_id" ON "orders" FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id) EXECUTE FUNCTION "outlive_project"();
CREATE TRIGGER "subscriptions_outlive" BEFORE UPDATE OF "project_id" ON "subscriptions" FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id) EXECUTE FUNCTION "outlive_project"();
