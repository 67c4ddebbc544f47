-- Notifies all servers that a session has ended, was moved into a cookie or was limited (`NOTIFY
-- key_change`).
CREATE OR REPLACE FUNCTION notify_sign_in_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER sign_ins_notify_change AFTER DELETE ON sign_ins
  FOR EACH ROW EXECUTE FUNCTION notify_sign_in_change();

CREATE OR REPLACE TRIGGER sign_ins_notify_cookie
  AFTER UPDATE OF in_cookie, scopes, all_scopes, project_ids, all_projects ON sign_ins
  FOR EACH ROW EXECUTE FUNCTION notify_sign_in_change();
