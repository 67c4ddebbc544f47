-- The key (SECRET_KEY) that encrypts the secrets in this database, by its id. The server encrypts the present
-- ones after its start, in batches.
CREATE TABLE "secret_keys" (
  "id" INTEGER NOT NULL DEFAULT 1,
  "key_id" TEXT NOT NULL,
  CONSTRAINT "secret_keys_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "secret_keys_single" CHECK ("id" = 1)
);

-- Encrypting a secret anew is no change of its endpoint. A rotation sets previous_expires_at.
CREATE OR REPLACE TRIGGER webhook_endpoints_set_updated_at BEFORE INSERT OR UPDATE OF url, description,
    event_types, enabled, disabled_reason, previous_expires_at, metadata ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
