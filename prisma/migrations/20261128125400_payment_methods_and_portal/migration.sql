-- CreateTable
CREATE TABLE "payment_methods" (
    "id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "fingerprint" TEXT NOT NULL,
    "brand" TEXT NOT NULL,
    "last4" TEXT NOT NULL,
    "exp_month" INTEGER,
    "exp_year" INTEGER,
    "renews" BOOLEAN NOT NULL,
    "chosen_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "payment_methods_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "portal_sessions" (
    "id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "digest" TEXT NOT NULL,
    "cookie_digest" TEXT,
    "return_url" TEXT,
    "created_by" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "portal_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "payment_methods_customer_id_id_idx" ON "payment_methods"("customer_id", "id");

-- CreateIndex
CREATE INDEX "payment_methods_customer_id_chosen_at_id_idx" ON "payment_methods"("customer_id", "chosen_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "payment_methods_customer_id_gateway_fingerprint_key" ON "payment_methods"("customer_id", "gateway", "fingerprint");

-- CreateIndex
CREATE UNIQUE INDEX "payment_methods_gateway_gateway_reference_key" ON "payment_methods"("gateway", "gateway_reference");

-- CreateIndex
CREATE UNIQUE INDEX "portal_sessions_digest_key" ON "portal_sessions"("digest");

-- CreateIndex
CREATE UNIQUE INDEX "portal_sessions_cookie_digest_key" ON "portal_sessions"("cookie_digest");

-- CreateIndex
CREATE INDEX "portal_sessions_customer_id_id_idx" ON "portal_sessions"("customer_id", "id");

-- CreateIndex
CREATE INDEX "portal_sessions_expires_at_idx" ON "portal_sessions"("expires_at");

-- AddForeignKey
ALTER TABLE "payment_methods" ADD CONSTRAINT "payment_methods_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "portal_sessions" ADD CONSTRAINT "portal_sessions_customer_id_fkey" FOREIGN KEY ("customer_id") REFERENCES "customers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A deleted customer has no cards, and no way into the portal.
CREATE OR REPLACE FUNCTION forget_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM payment_methods WHERE customer_id = NEW.id;
  DELETE FROM portal_sessions WHERE customer_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER customers_forget AFTER UPDATE OF deleted_at ON customers
  FOR EACH ROW WHEN (new.deleted_at IS NOT NULL)
  EXECUTE FUNCTION forget_customer();

-- The cards that subscriptions of the sandbox are charged to.
INSERT INTO payment_methods (id, customer_id, gateway, fingerprint, brand, last4, renews, chosen_at, created_at,
  updated_at)
SELECT DISTINCT ON (s.customer_id, s.card->>'brand', s.card->>'last4') new_id('pm', payments_now()), s.customer_id,
  'sandbox', concat_ws(' ', s.card->>'brand', s.card->>'last4'), s.card->>'brand', s.card->>'last4',
  (s.card->>'renews')::boolean, s.created_at, payments_now(), payments_now()
FROM subscriptions s JOIN customers c ON c.id = s.customer_id
WHERE s.card IS NOT NULL AND s.ended_at IS NULL AND c.deleted_at IS NULL
ORDER BY s.customer_id, s.card->>'brand', s.card->>'last4', s.created_at DESC;
