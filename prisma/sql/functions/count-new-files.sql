-- Adds new files to the storage usage.
CREATE OR REPLACE FUNCTION count_new_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_usage AS u (workspace_id, files, bytes, trashed_files, trashed_bytes)
  SELECT workspace_id, count(*), sum(bytes), count(trashed_at),
    coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0)
  FROM added GROUP BY workspace_id ORDER BY workspace_id
  ON CONFLICT (workspace_id) DO UPDATE SET files = u.files + excluded.files, bytes = u.bytes + excluded.bytes,
    trashed_files = u.trashed_files + excluded.trashed_files,
    trashed_bytes = u.trashed_bytes + excluded.trashed_bytes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_added AFTER INSERT ON files
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_files();
