-- The versions of a file move with it to another workspace, and count in the storage usage there.
CREATE OR REPLACE FUNCTION move_file_versions()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  moved record;
  u record;
BEGIN
  WITH versions AS (
    UPDATE file_versions SET workspace_id = NEW.workspace_id WHERE file_id = NEW.id RETURNING bytes
  )
  SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes INTO moved FROM versions;
  IF moved.n = 0 THEN
    RETURN NULL;
  END IF;
  FOR u IN
    SELECT * FROM (VALUES (OLD.workspace_id, -1), (NEW.workspace_id, 1)) AS w (workspace_id, sign)
    ORDER BY workspace_id
  LOOP
    INSERT INTO storage_usage (workspace_id) VALUES (u.workspace_id) ON CONFLICT DO NOTHING;
    UPDATE storage_usage s SET versions = s.versions + u.sign * moved.n,
      version_bytes = s.version_bytes + u.sign * moved.bytes
    WHERE s.workspace_id = u.workspace_id;
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_moved AFTER UPDATE OF workspace_id ON files
  FOR EACH ROW WHEN (old.workspace_id IS DISTINCT FROM new.workspace_id)
  EXECUTE FUNCTION move_file_versions();
