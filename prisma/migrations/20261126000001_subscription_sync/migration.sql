-- Splits subscriptions.told_at, whose value 'infinity' meant that a cancellation was still to be sent to the
-- gateway: synced_at is the time of the gateway's state that was applied last; sync_pending says that a
-- cancellation is to be sent.
ALTER TABLE "subscriptions" RENAME COLUMN "told_at" TO "synced_at";
ALTER TABLE "subscriptions" ADD COLUMN "sync_pending" BOOLEAN NOT NULL DEFAULT false;
UPDATE "subscriptions" SET "sync_pending" = true, "synced_at" = NULL WHERE "synced_at" = 'infinity';
