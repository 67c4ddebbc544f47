-- Scans the tables while servers write to them.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT conrelid::regclass FROM pg_constraint
    WHERE conname IN ('events_before', 'webhook_deliveries_before')
  LOOP
    EXECUTE format('ALTER TABLE %I VALIDATE CONSTRAINT %I', name, name || '_before');
  END LOOP;
END $$;
