-- A project has an owner for as long as somebody may use or restore it. The row lock makes two removals that cross see each other.
CREATE OR REPLACE FUNCTION "require_owner"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM projects WHERE id = OLD.project_id AND status <> 'deleted' FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (SELECT 1 FROM members WHERE project_id = OLD.project_id AND role = 'owner') THEN
    RAISE EXCEPTION 'project % would have no owner', OLD.project_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'members';
  END IF;
  RETURN NULL;
END $$;
