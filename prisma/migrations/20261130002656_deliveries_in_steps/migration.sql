-- AlterTable
ALTER TABLE "event_log" ADD COLUMN     "partial_endpoint_id" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "partial_sequence" BIGINT NOT NULL DEFAULT 0;
