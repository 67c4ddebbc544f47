-- CreateEnum
CREATE TYPE "WebhookDeliveryStatus" AS ENUM ('pending', 'succeeded', 'failed');

-- CreateTable
CREATE TABLE "events" (
    "id" TEXT NOT NULL,
    "position" BIGSERIAL NOT NULL,
    "sequence" BIGINT,
    "type" TEXT NOT NULL,
    "project_id" TEXT,
    "user_id" TEXT,
    "scope" TEXT NOT NULL,
    "role" "MemberRole",
    "request_id" TEXT,
    "data" JSON NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event_log" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "last_sequence" BIGINT NOT NULL DEFAULT 0,
    "removed_through" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_log_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT,
    "event_types" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "scopes" TEXT[],
    "project_ids" TEXT[],
    "all_projects" BOOLEAN NOT NULL DEFAULT true,
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_expires_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "status" "WebhookDeliveryStatus" NOT NULL DEFAULT 'pending',
    "tries" INTEGER NOT NULL DEFAULT 0,
    "attempts" JSONB NOT NULL DEFAULT '[]',
    "request" JSONB,
    "next_attempt_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "webhook_endpoints_user_id_created_at_id_idx" ON "webhook_endpoints"("user_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_endpoint_id_created_at_id_idx" ON "webhook_deliveries"("endpoint_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "events"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

-- What is not numbered yet; at any time a handful.
CREATE INDEX "events_unnumbered_idx" ON "events"("position") WHERE "sequence" IS NULL;
-- The log as its readers follow it: all of it, by project, by user, and what is for admins. Only numbered events are in
-- these, so that writing one costs two small indexes.
CREATE UNIQUE INDEX "events_sequence_key" ON "events"("sequence") WHERE "sequence" IS NOT NULL;
CREATE INDEX "events_project_id_sequence_idx" ON "events"("project_id", "sequence") WHERE "project_id" IS NOT NULL AND "sequence" IS NOT NULL;
CREATE INDEX "events_user_id_sequence_idx" ON "events"("user_id", "sequence") WHERE "project_id" IS NULL AND "sequence" IS NOT NULL;
-- Whom an event is told to, and what `recover` looks for.
CREATE INDEX "webhook_endpoints_told_idx" ON "webhook_endpoints"("user_id") WHERE "enabled" AND "deleted_at" IS NULL;
CREATE INDEX "webhook_deliveries_failed_idx" ON "webhook_deliveries"("endpoint_id", "created_at") WHERE "status" = 'failed';

ALTER TABLE "event_log" ADD CONSTRAINT "event_log_one_row" CHECK ("id" = 1);
ALTER TABLE "webhook_endpoints"
  ADD CONSTRAINT "webhook_endpoints_disabled_reason" CHECK ("disabled_reason" IS NULL OR (NOT "enabled" AND "disabled_reason" IN ('gone', 'failing')));
INSERT INTO "event_log" DEFAULT VALUES;

-- Numbers what is committed and not numbered yet, at most `most` of it, and tells every listener how far the log reaches.
-- Numberers go one by one, each with a snapshot taken after the one before it committed: so no event ever becomes visible
-- below a number that was visible already, and no number is left out.
CREATE FUNCTION "number_events"("most" integer, OUT "last" bigint, OUT "numbered" integer) LANGUAGE plpgsql AS $$
BEGIN
  numbered := 0;
  IF NOT EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) THEN
    SELECT last_sequence INTO last FROM event_log;
    RETURN;
  END IF;
  SELECT last_sequence INTO last FROM event_log FOR UPDATE;
  WITH next AS (
    SELECT id, last + row_number() OVER (ORDER BY position) AS number
    FROM (SELECT id, position FROM events WHERE sequence IS NULL ORDER BY position LIMIT most FOR NO KEY UPDATE) unnumbered
  ), written AS (
    UPDATE events e SET sequence = next.number FROM next WHERE e.id = next.id RETURNING 1
  )
  SELECT count(*) INTO numbered FROM written;
  IF numbered > 0 THEN
    last := last + numbered;
    UPDATE event_log SET last_sequence = last;
    PERFORM pg_notify('events', last::text);
  END IF;
END $$;
