-- The service accounts of a project use the limits of its organization, or of its main owner. When that
-- changes, what they have moves with them, by the rows of `all_quotas()`, and all servers are notified.
CREATE OR REPLACE FUNCTION move_service_accounts()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  target text := coalesce(NEW.organization_id, NEW.owner_id);
  account record;
  counted record;
  amount bigint;
BEGIN
  FOR account IN
    SELECT id, user_id, account_id FROM service_accounts
    WHERE project_id = NEW.id AND deleted_at IS NULL AND account_id <> target ORDER BY id
  LOOP
    FOR counted IN SELECT * FROM all_quotas() WHERE source <> 'service_accounts' LOOP
      EXECUTE format('SELECT coalesce(%s, 0) FROM %I WHERE %s = $1 AND %s', counted.amount, counted.source,
        counted.owner, counted.counted) INTO amount USING account.user_id;
      IF amount <> 0 THEN
        INSERT INTO quota_changes (user_id, quota, change)
        VALUES (account.account_id, counted.quota, -amount), (target, counted.quota, amount);
      END IF;
    END LOOP;
    UPDATE service_accounts SET account_id = target WHERE id = account.id;
    PERFORM pg_notify('key_change', account.user_id);
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER projects_move_service_accounts AFTER UPDATE OF owner_id, organization_id ON projects
  FOR EACH ROW WHEN ((coalesce(old.organization_id, old.owner_id)
    IS DISTINCT FROM coalesce(new.organization_id, new.owner_id)))
  EXECUTE FUNCTION move_service_accounts();
