-- A project always has an owner. Checked at commit.
CREATE OR REPLACE FUNCTION require_owner()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM projects WHERE id = OLD.project_id AND status <> 'deleted' FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (SELECT 1 FROM members WHERE project_id = OLD.project_id AND role = 'owner') THEN
    RAISE EXCEPTION 'project % would have no owner', OLD.project_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'members';
  END IF;
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER members_require_owner AFTER DELETE OR UPDATE OF role, own_role, custom_role_id,
    organization_role ON members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"MemberRole")) EXECUTE FUNCTION require_owner();
