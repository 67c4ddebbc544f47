-- The time of the last sign of life of the process that generates an answer is called a heartbeat.
ALTER TABLE "ai_messages" RENAME COLUMN "beat_at" TO "heartbeat_at";
ALTER TABLE "ai_messages" RENAME CONSTRAINT "ai_messages_beat" TO "ai_messages_heartbeat";
