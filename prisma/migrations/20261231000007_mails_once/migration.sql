-- Of the e-mails with one key, the first is queued.
ALTER TABLE "mails" ADD COLUMN "dedupe_key" TEXT;
CREATE UNIQUE INDEX "mails_dedupe_key_key" ON "mails"("dedupe_key");
