-- The position of the last event that was inserted, also if it is not committed.
CREATE OR REPLACE FUNCTION last_event_position()
RETURNS bigint
LANGUAGE sql
AS $function$
  SELECT coalesce(pg_sequence_last_value('events_position_seq'), 0)
$function$;
