-- A passkey is renamed.
CREATE OR REPLACE TRIGGER passkeys_set_updated_at BEFORE INSERT OR UPDATE OF name ON passkeys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
