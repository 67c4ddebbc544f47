-- AlterTable
ALTER TABLE "event_log" ADD COLUMN     "delivered_sequence" BIGINT NOT NULL DEFAULT 0;

-- The events of before have their deliveries.
UPDATE event_log SET delivered_sequence = last_sequence;

-- AlterTable
ALTER TABLE "events" ADD COLUMN     "delivers" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "traceparent" TEXT;

-- The position of the last event that was inserted, also if it is not committed.
CREATE OR REPLACE FUNCTION last_event_position()
RETURNS bigint
LANGUAGE sql
AS $function$
  SELECT coalesce(pg_sequence_last_value('events_position_seq'), 0)
$function$;

-- AlterTable
ALTER TABLE "webhook_endpoints" ADD COLUMN     "events_after" BIGINT NOT NULL DEFAULT last_event_position();

-- Whether numbered events lack their deliveries. VOLATILE: it sees what `number_events` did in its statement.
CREATE OR REPLACE FUNCTION lacks_deliveries()
RETURNS boolean
LANGUAGE sql
AS $function$
  SELECT delivered_sequence < last_sequence FROM event_log
$function$;

-- Numbers committed events, one caller at a time, and notifies the readers of the log. A sequence that is
-- drawn while writing becomes visible out of order: a reader that asks for events after a number could miss
-- one that commits late. While there is no webhook endpoint, no event waits for its deliveries.
CREATE OR REPLACE FUNCTION number_events(most integer, OUT last bigint, OUT numbered integer)
RETURNS record
LANGUAGE plpgsql
AS $function$
BEGIN
  numbered := 0;
  IF NOT EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) THEN
    SELECT last_sequence INTO last FROM event_log;
    RETURN;
  END IF;
  SELECT last_sequence INTO last FROM event_log FOR UPDATE;
  WITH next AS (
    SELECT id, last + row_number() OVER (ORDER BY position) AS number
    FROM (SELECT id, position FROM events WHERE sequence IS NULL ORDER BY position LIMIT most
      FOR NO KEY UPDATE) unnumbered
  ), written AS (
    UPDATE events e SET sequence = next.number FROM next WHERE e.id = next.id RETURNING 1
  )
  SELECT count(*) INTO numbered FROM written;
  IF numbered > 0 THEN
    last := last + numbered;
    -- After the events were read: the endpoint of one of them may be as new as the event.
    UPDATE event_log SET last_sequence = last, delivered_sequence =
      CASE WHEN EXISTS (SELECT FROM webhook_endpoints WHERE enabled AND deleted_at IS NULL)
        THEN delivered_sequence ELSE last END;
    PERFORM pg_notify('events', last::text);
  END IF;
END $function$;
