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
