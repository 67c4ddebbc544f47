-- Drops a month of deliveries or of events that ended more than `days` days ago, the oldest first. Returns
-- its name; null if there is none, or if other transactions use the table for longer than half a second,
-- which is before PostgreSQL looks for deadlocks.
-- A day is added: the clocks of servers differ, and an event may be numbered long after its id was made. So
-- `removed_through`, where the log begins, is never after an event that is younger than `days` days.
-- It has the rights of the owner of the tables, and serves roles that may delete the rows.
CREATE OR REPLACE FUNCTION drop_old_partition(days integer)
RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
SET lock_timeout TO '500ms'
AS $function$
DECLARE
  month record;
  last bigint;
  unnumbered boolean;
BEGIN
  IF NOT (has_table_privilege(session_user, 'events', 'DELETE')
      AND has_table_privilege(session_user, 'webhook_deliveries', 'DELETE')) THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied to delete events';
  END IF;
  FOR month IN SELECT parent, name FROM month_partitions()
    WHERE ends < now() AT TIME ZONE 'UTC' - make_interval(days => greatest(days, 1) + 1)
    ORDER BY ends, parent DESC
  LOOP
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', month.parent);
    -- Another process may have dropped it while it held the lock.
    CONTINUE WHEN to_regclass(month.name) IS NULL;
    IF month.parent = 'events' THEN
      EXECUTE format('SELECT max(sequence), EXISTS (SELECT FROM %I WHERE sequence IS NULL) FROM %1$I',
        month.name) INTO last, unnumbered;
      CONTINUE WHEN unnumbered;
    END IF;
    EXECUTE format('DROP TABLE %I', month.name);
    IF month.parent = 'events' THEN
      UPDATE event_log SET removed_through = greatest(removed_through, last);
    END IF;
    RETURN month.name;
  END LOOP;
  RETURN NULL;
EXCEPTION WHEN lock_not_available THEN
  RETURN NULL;
END $function$;
