-- Sets what a member may do in each area: the more powerful of the member's own role, or custom role, and of
-- the role that the member has in the organization of the project. `least`, because the most powerful role is
-- the first of the type.
CREATE OR REPLACE FUNCTION set_member_roles()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  custom custom_roles%ROWTYPE;
BEGIN
  -- Servers of an older version set only `role`.
  IF TG_OP = 'INSERT' THEN
    IF NEW.own_role IS NULL AND NEW.organization_role IS NULL THEN
      NEW.own_role := NEW.role;
    END IF;
  ELSIF NEW.role <> OLD.role AND NEW.own_role IS NOT DISTINCT FROM OLD.own_role
    AND NEW.organization_role IS NOT DISTINCT FROM OLD.organization_role THEN
    NEW.own_role := NEW.role;
    NEW.custom_role_id := NULL;
  END IF;
  IF NEW.own_role = 'owner' AND EXISTS (SELECT FROM service_accounts WHERE user_id = NEW.user_id) THEN
    RAISE EXCEPTION 'service account % cannot own a project', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'service_account', TABLE = 'members';
  END IF;
  NEW.role := least(NEW.own_role, NEW.organization_role);
  NEW.storage_role := NEW.role;
  NEW.ai_role := NEW.role;
  NEW.payments_role := NEW.role;
  IF NEW.custom_role_id IS NOT NULL THEN
    SELECT * INTO STRICT custom FROM custom_roles WHERE id = NEW.custom_role_id;
    NEW.own_role := custom.projects;
    NEW.role := least(custom.projects, NEW.organization_role);
    NEW.storage_role := least(custom.storage, NEW.organization_role);
    NEW.ai_role := least(custom.ai, NEW.organization_role);
    NEW.payments_role := least(custom.payments, NEW.organization_role);
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER members_set_roles BEFORE INSERT OR UPDATE OF role, own_role, custom_role_id,
    organization_role, project_id ON members
  FOR EACH ROW EXECUTE FUNCTION set_member_roles();
