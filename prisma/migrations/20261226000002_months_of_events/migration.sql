-- Makes `events` and `webhook_deliveries` partitioned by the month of their ids, so that retention drops
-- whole months. The present tables become the partitions of everything before a month. The indexes, the
-- trigger and the foreign key of the partitions become parts of those of the new tables; nothing is scanned
-- or written again. Deliveries no longer refer to their events by a foreign key: both have the time of the
-- event in their ids, so their months are dropped together.
-- It gives up, and is tried again, before PostgreSQL looks for deadlocks.
SET LOCAL lock_timeout = '500ms';
LOCK TABLE events, webhook_deliveries IN ACCESS EXCLUSIVE MODE;
LOCK TABLE webhook_endpoints IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_event_id_fkey;
DROP TRIGGER webhook_deliveries_set_updated_at ON webhook_deliveries;

CREATE TEMPORARY TABLE former (parent text, prefix text, name text, bound text, checked boolean)
  ON COMMIT DROP;

DO $$
DECLARE
  parent text;
  prefix text;
  month timestamp;
  name text;
  checked boolean;
  index text;
  has_rows boolean;
BEGIN
  FOR parent, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
    SELECT obj_description(oid, 'pg_constraint')::timestamp INTO month
      FROM pg_constraint WHERE conrelid = parent::regclass AND conname = parent || '_before';
    checked := month IS NOT NULL;
    IF NOT checked THEN
      EXECUTE format('SELECT EXISTS (SELECT FROM %I)', parent) INTO has_rows;
      month := date_trunc('month', now() AT TIME ZONE 'UTC');
      IF has_rows THEN month := month + interval '1 month'; END IF;
    END IF;
    name := parent || '_before' || to_char(month, '_YYYY_MM');
    EXECUTE format('ALTER TABLE %I RENAME TO %I', parent, name);
    FOR index IN SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
      WHERE x.indrelid = name::regclass
    LOOP
      EXECUTE format('ALTER INDEX %I RENAME TO %I', index, name || substr(index, length(parent) + 1));
    END LOOP;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING COMMENTS INCLUDING STORAGE)
      PARTITION BY RANGE (id)', parent, name);
    INSERT INTO former VALUES (parent, prefix, name, id_at(prefix, month AT TIME ZONE 'UTC'), checked);
  END LOOP;
END $$;

ALTER SEQUENCE events_position_seq OWNED BY events.position;
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (id);
CREATE INDEX events_unnumbered_idx ON events (position) WHERE sequence IS NULL;
CREATE INDEX events_project_id_sequence_idx ON events (project_id, sequence)
  WHERE project_id IS NOT NULL AND sequence IS NOT NULL;
CREATE INDEX events_user_id_sequence_idx ON events (user_id, sequence)
  WHERE project_id IS NULL AND sequence IS NOT NULL;
CREATE INDEX events_sales_idx ON events (sequence) WHERE scope = 'payments:read' AND sequence IS NOT NULL;
ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  ADD CONSTRAINT webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id)
    REFERENCES webhook_endpoints (id) ON DELETE CASCADE ON UPDATE CASCADE,
  ALTER COLUMN endpoint_id SET (n_distinct_inherited = -0.001);
CREATE INDEX webhook_deliveries_endpoint_id_created_at_id_idx
  ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_event_id_idx ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, created_at)
  WHERE status = 'failed';
CREATE TRIGGER webhook_deliveries_set_updated_at BEFORE INSERT OR UPDATE OF status, attempts, next_attempt_at
  ON webhook_deliveries FOR EACH ROW EXECUTE FUNCTION set_updated_at();

-- What is in no month. The months are made like these. A unique index of a partitioned table contains the
-- column of the partitions, so each partition has its own index of `sequence`.
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE UNIQUE INDEX events_default_sequence_key ON events_default (sequence) WHERE sequence IS NOT NULL;
CREATE TABLE webhook_deliveries_default PARTITION OF webhook_deliveries DEFAULT;
ALTER TABLE webhook_deliveries_default ALTER COLUMN endpoint_id SET (n_distinct = -0.001);

DO $$
DECLARE
  old record;
  granted record;
BEGIN
  FOR old IN SELECT * FROM former LOOP
    IF NOT old.checked THEN
      EXECUTE format('WITH moved AS (DELETE FROM %I WHERE id >= %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', old.name, old.bound, old.parent || '_default');
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
      old.parent, old.name, old.bound);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', old.name, old.parent || '_before');
    FOR granted IN
      SELECT a.privilege_type,
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee
      FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = old.name::regclass AND a.grantee <> c.relowner
    LOOP
      EXECUTE format('GRANT %s ON %I TO %s', granted.privilege_type, old.parent, granted.grantee);
    END LOOP;
  END LOOP;
END $$;

-- The months of the partitioned tables, from their names: `events_2027_01` has the events of January 2027,
-- `events_before_2027_01` all earlier ones. `ends`: the first moment after the partition, in UTC.
CREATE OR REPLACE FUNCTION month_partitions(OUT parent text, OUT name text,
  OUT ends timestamp without time zone)
RETURNS SETOF record
LANGUAGE sql
STABLE
AS $function$
  SELECT p.relname::text, c.relname::text, to_date(right(c.relname, 7), 'YYYY_MM')
    + CASE WHEN c.relname ~ '_before_\d{4}_\d\d$' THEN interval '0' ELSE interval '1 month' END
  FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.oid IN ('public.events'::regclass, 'public.webhook_deliveries'::regclass)
    AND c.relname ~ '_\d{4}_\d\d$'
$function$;

-- Makes the months of events and deliveries up to two months from now, and moves rows of these months from
-- the default partitions to them. Returns the number of partitions. It waits for other transactions for half
-- a second, which is before PostgreSQL looks for deadlocks, and then fails with 55P03. It has the rights of
-- the owner of the tables, because the role of servers changes no table.
CREATE OR REPLACE FUNCTION make_partitions()
RETURNS integer
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
SET lock_timeout TO '500ms'
AS $function$
DECLARE
  last_month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
  table_name text;
  prefix text;
  month timestamp;
  low text;
  high text;
  partition text;
  made integer := 0;
BEGIN
  FOR table_name, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
    SELECT max(ends) INTO month FROM month_partitions() WHERE parent = table_name;
    CONTINUE WHEN month > last_month;
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', table_name);
    -- Another process may have made them while it held the lock.
    SELECT max(ends) INTO month FROM month_partitions() WHERE parent = table_name;
    WHILE month <= last_month LOOP
      partition := table_name || to_char(month, '_YYYY_MM');
      low := id_at(prefix, month AT TIME ZONE 'UTC');
      month := month + interval '1 month';
      high := id_at(prefix, month AT TIME ZONE 'UTC');
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, table_name || '_default');
      IF table_name = 'webhook_deliveries' THEN
        EXECUTE format('ALTER TABLE %I ALTER COLUMN endpoint_id SET (n_distinct = -0.001)', partition);
      END IF;
      EXECUTE format('WITH moved AS (DELETE FROM %I WHERE id >= %L AND id < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', table_name || '_default', low, high, partition);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        table_name, partition, low, high);
      made := made + 1;
    END LOOP;
  END LOOP;
  RETURN made;
END $function$;

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

-- Whether an event or a delivery is in no month: `make_partitions` did not run for two months, or the clock
-- of a server is wrong.
CREATE OR REPLACE FUNCTION default_partitions_have_rows()
RETURNS boolean
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM events_default) OR EXISTS (SELECT FROM webhook_deliveries_default)
$function$;

SELECT make_partitions();
