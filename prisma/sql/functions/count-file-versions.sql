-- Adds new versions of files to the storage usage.
CREATE OR REPLACE FUNCTION count_file_versions()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_usage AS u (workspace_id, versions, version_bytes)
  SELECT workspace_id, count(*), sum(bytes) FROM added GROUP BY workspace_id ORDER BY workspace_id
  ON CONFLICT (workspace_id) DO UPDATE SET versions = u.versions + excluded.versions,
    version_bytes = u.version_bytes + excluded.version_bytes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER file_versions_added AFTER INSERT ON file_versions
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_file_versions();
