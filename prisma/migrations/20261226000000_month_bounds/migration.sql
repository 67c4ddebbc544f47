-- The next two migrations make `events` and `webhook_deliveries` partitioned by month. The present tables
-- become the partitions of everything before a month. So that this needs no scan under a lock, a constraint
-- says first that all rows are before that month. It is at least 14 days away, because servers go on writing
-- until the last of the migrations.
-- It gives up, and is tried again, before PostgreSQL looks for deadlocks.
SET LOCAL lock_timeout = '500ms';

DO $$
DECLARE
  name text;
  prefix text;
  today timestamp := now() AT TIME ZONE 'UTC';
  month timestamp := date_trunc('month', today + interval '14 days') + interval '1 month';
  bound text;
  has_rows boolean;
  has_later_rows boolean;
BEGIN
  FOR name, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
    bound := id_at(prefix, month AT TIME ZONE 'UTC');
    EXECUTE format('SELECT EXISTS (SELECT FROM %I), EXISTS (SELECT FROM %1$I WHERE id >= %L)', name, bound)
      INTO has_rows, has_later_rows;
    -- Rows of a clock that was ahead are moved by the last migration.
    CONTINUE WHEN NOT has_rows OR has_later_rows;
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (id < %L) NOT VALID',
      name, name || '_before', bound);
    EXECUTE format('COMMENT ON CONSTRAINT %I ON %I IS %L', name || '_before', name, month::date);
  END LOOP;
END $$;
