-- outside a transaction
-- What each member may do in each area: the trigger `members_set_roles` computes it. Each batch is a
-- transaction of its own, so that no lock lasts long, and the migration can be repeated.
DO $$
DECLARE
  last text := '';
BEGIN
  LOOP
    WITH batch AS (SELECT id FROM members WHERE id > last ORDER BY id LIMIT 5000),
      filled AS (
        UPDATE members m SET own_role = m.role FROM batch
        WHERE m.id = batch.id AND m.own_role IS NULL AND m.organization_role IS NULL
      )
    SELECT max(id) FROM batch INTO last;
    EXIT WHEN last IS NULL;
    COMMIT;
  END LOOP;
END $$;
