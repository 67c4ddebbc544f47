-- Copies the status of a project to its members, for the index of the list of projects.
CREATE OR REPLACE FUNCTION copy_project_status()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE members SET project_status = NEW.status WHERE project_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER projects_copy_status AFTER UPDATE OF status ON projects
  FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status))
  EXECUTE FUNCTION copy_project_status();
