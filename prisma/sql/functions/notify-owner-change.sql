-- Notifies all servers that the owner of API keys has changed (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_owner_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', NEW.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER users_notify_change AFTER UPDATE OF status, role ON users
  FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.role IS DISTINCT FROM new.role)))
  EXECUTE FUNCTION notify_owner_change();
