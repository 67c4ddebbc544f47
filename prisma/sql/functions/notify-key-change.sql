-- Notifies all servers that an API key has changed (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_key_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', encode(OLD.digest, 'hex'));
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER api_keys_notify_change AFTER DELETE OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION notify_key_change();
