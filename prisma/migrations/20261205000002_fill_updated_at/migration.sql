-- outside a transaction
-- Rows that are older than `updated_at` were last updated when they were created. Each batch is a transaction
-- of its own, so that no lock lasts long, and the migration can be repeated.
DO $$
DECLARE
  tables CONSTANT text[] := ARRAY['ai_messages', 'api_keys', 'checkouts', 'file_links', 'invitations',
    'prices', 'subscriptions', 'uploads', 'webhook_deliveries', 'webhook_endpoints'];
  name text;
  last text;
BEGIN
  FOREACH name IN ARRAY tables LOOP
    last := '';
    LOOP
      EXECUTE format(
        'WITH batch AS (SELECT id FROM %1$I WHERE id > $1 ORDER BY id LIMIT 5000),
          filled AS (UPDATE %1$I t SET updated_at = t.created_at FROM batch
            WHERE t.id = batch.id AND t.updated_at = ''epoch'')
        SELECT max(id) FROM batch', name) INTO last USING last;
      EXIT WHEN last IS NULL;
      COMMIT;
    END LOOP;
  END LOOP;
END $$;
