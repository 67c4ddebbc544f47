-- A deleted user cannot become a member.
CREATE OR REPLACE FUNCTION require_existing_user()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM users WHERE id = NEW.user_id AND status <> 'deleted' FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % is deleted and can be no member', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'living_user', TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER members_require_existing_user BEFORE INSERT ON members
  FOR EACH ROW EXECUTE FUNCTION require_existing_user();

CREATE OR REPLACE TRIGGER organization_members_require_existing_user
  BEFORE INSERT OR UPDATE OF user_id ON organization_members
  FOR EACH ROW WHEN ((new.user_id IS NOT NULL)) EXECUTE FUNCTION require_existing_user();
