-- An organization always has an owner. Checked at commit.
CREATE OR REPLACE FUNCTION require_organization_owner()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM organizations WHERE id = OLD.organization_id FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (
    SELECT 1 FROM organization_members
    WHERE organization_id = OLD.organization_id AND role = 'owner' AND status = 'active'
  ) THEN
    RAISE EXCEPTION 'organization % would have no owner', OLD.organization_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'organization_members';
  END IF;
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER organization_members_require_owner
  AFTER DELETE OR UPDATE OF role ON organization_members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"OrganizationRole")) EXECUTE FUNCTION require_organization_owner();
