-- A key records the key that made it.
ALTER TABLE "api_keys" ADD COLUMN     "created_by_key" TEXT;

CREATE INDEX "api_keys_replaced_by_idx" ON "api_keys"("replaced_by");

CREATE INDEX "api_keys_created_by_key_idx" ON "api_keys"("created_by_key");
