-- A change of the new columns is an update from now on.
CREATE OR REPLACE TRIGGER members_set_updated_at BEFORE INSERT OR UPDATE OF role, own_role,
    custom_role_id, organization_role, metadata ON members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

ALTER TABLE "projects" VALIDATE CONSTRAINT "projects_organization_id_fkey";
ALTER TABLE "members" VALIDATE CONSTRAINT "members_custom_role_id_fkey";
