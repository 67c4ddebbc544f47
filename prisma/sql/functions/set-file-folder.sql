-- Servers of version 1.12 set the path of a file: it becomes the folder. Where a newer server sets the
-- folder, the old ones read its path.
CREATE OR REPLACE FUNCTION set_file_folder()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.folder_id IS NOT DISTINCT FROM OLD.folder_id THEN
    IF NEW.path = OLD.path THEN
      RETURN NEW;
    END IF;
    NEW.folder_id := NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    NEW.path := '';
  END IF;
  IF NEW.folder_id IS NOT NULL THEN
    NEW.path := coalesce((SELECT f.path FROM folders f WHERE f.id = NEW.folder_id), '');
  ELSIF NEW.path <> '' THEN
    NEW.folder_id :=
      (SELECT folder FROM ensure_folder(NEW.workspace_id, NEW.project_id, NEW.owner_id, NEW.path, 1000000));
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER files_set_folder BEFORE INSERT OR UPDATE OF path, folder_id ON files
  FOR EACH ROW EXECUTE FUNCTION set_file_folder();
