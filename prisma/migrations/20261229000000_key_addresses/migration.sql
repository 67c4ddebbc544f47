-- An API key can be limited to IP addresses, and records the address of its last use.
ALTER TABLE "api_keys" ADD COLUMN     "allowed_addresses" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "last_used_ip" TEXT;

CREATE OR REPLACE TRIGGER api_keys_notify_change AFTER DELETE OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION notify_key_change();

CREATE OR REPLACE TRIGGER api_keys_set_updated_at BEFORE INSERT OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at, replaced_by, metadata ON api_keys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
