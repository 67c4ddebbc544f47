-- The quarantine of all blobs starts again by one value, however many there are.
ALTER TABLE "database_identity" ADD COLUMN "quarantine_restarted_at" TIMESTAMPTZ(3);
