-- Notifies all servers that the service accounts of an organization use other limits (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_limits_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', s.user_id) FROM service_accounts s
  WHERE s.account_id = NEW.id AND s.deleted_at IS NULL;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER organizations_notify_limits AFTER UPDATE OF limits_of ON organizations
  FOR EACH ROW WHEN ((old.limits_of IS DISTINCT FROM new.limits_of)) EXECUTE FUNCTION notify_limits_change();
