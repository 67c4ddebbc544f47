-- CreateEnum
CREATE TYPE "AccountExportStatus" AS ENUM ('queued', 'processing', 'ready', 'failed');

-- CreateTable
CREATE TABLE "account_exports" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "status" "AccountExportStatus" NOT NULL DEFAULT 'queued',
    "blob_key" TEXT,
    "bytes" BIGINT,
    "sha256" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_exports_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "account_exports_blob_key_key" ON "account_exports"("blob_key");

-- CreateIndex
CREATE INDEX "account_exports_user_id_id_idx" ON "account_exports"("user_id", "id");

-- CreateIndex
CREATE INDEX "account_exports_expires_at_idx" ON "account_exports"("expires_at");

-- AddForeignKey
ALTER TABLE "account_exports" ADD CONSTRAINT "account_exports_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A user has one unfinished export.
CREATE UNIQUE INDEX account_exports_unfinished_idx ON account_exports (user_id)
  WHERE status IN ('queued', 'processing');

ALTER TABLE account_exports
  ADD CONSTRAINT account_exports_complete CHECK (
    (status IN ('ready', 'failed')) = (completed_at IS NOT NULL AND expires_at IS NOT NULL)
    AND (status = 'ready') = (blob_key IS NOT NULL AND bytes IS NOT NULL AND sha256 IS NOT NULL));

-- Puts the files of deleted exports into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_exports()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT blob_key, 'deleted' FROM removed WHERE blob_key IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER account_exports_removed AFTER DELETE ON account_exports
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_exports();
