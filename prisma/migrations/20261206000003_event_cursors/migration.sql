-- The key of the cursors of the event log, random for each installation.
ALTER TABLE "event_log" ADD COLUMN "cursor_key" BYTEA NOT NULL
  DEFAULT uuid_send(gen_random_uuid());
