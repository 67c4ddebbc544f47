-- Gives the members with a custom role what the changed role allows.
CREATE OR REPLACE FUNCTION copy_custom_role()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE members SET custom_role_id = NEW.id WHERE custom_role_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER custom_roles_copy AFTER UPDATE OF projects, storage, ai, payments ON custom_roles
  FOR EACH ROW EXECUTE FUNCTION copy_custom_role();
