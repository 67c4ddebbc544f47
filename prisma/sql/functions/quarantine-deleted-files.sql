-- Subtracts deleted files from the storage usage, and puts their blobs into quarantine. Another row may have
-- the same blob: the sweep removes only blobs without a row, and takes the others out of the quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes,
    trashed_files = u.trashed_files - deleted.trashed_files,
    trashed_bytes = u.trashed_bytes - deleted.trashed_bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes, count(trashed_at) AS trashed_files,
      coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0) AS trashed_bytes
    FROM removed GROUP BY workspace_id
  ) deleted
  WHERE u.workspace_id = deleted.workspace_id;
  INSERT INTO quarantined_blobs (key, reason)
  SELECT DISTINCT blob_key, 'deleted'::"QuarantineReason" FROM removed ORDER BY 1
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_removed AFTER DELETE ON files
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_files();
