-- Subtracts deleted versions of files from the storage usage, and puts their blobs into quarantine, except
-- that of a version that is restored. Another row may have the same blob: see `quarantine_deleted_files`.
CREATE OR REPLACE FUNCTION quarantine_deleted_versions()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  -- Every deletion of a file runs this, mostly for a file without versions.
  IF NOT EXISTS (SELECT FROM removed) THEN
    RETURN NULL;
  END IF;
  UPDATE storage_usage u SET versions = u.versions - deleted.n,
    version_bytes = u.version_bytes - deleted.bytes
  FROM (SELECT workspace_id, count(*) AS n, sum(bytes) AS bytes FROM removed GROUP BY workspace_id) deleted
  WHERE u.workspace_id = deleted.workspace_id;
  INSERT INTO quarantined_blobs (key, reason)
  SELECT DISTINCT blob_key, 'deleted'::"QuarantineReason" FROM removed r
  WHERE NOT EXISTS (SELECT FROM files f WHERE f.id = r.file_id AND f.blob_key = r.blob_key) ORDER BY 1
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER file_versions_removed AFTER DELETE ON file_versions
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_versions();

-- Puts the former blob of a file into quarantine when the file gets another one, unless a version of the file
-- keeps it. The lock of the file keeps the version until the transaction ends.
CREATE OR REPLACE FUNCTION quarantine_replaced_content()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT OLD.blob_key, 'deleted'::"QuarantineReason"
  WHERE NOT EXISTS (SELECT FROM file_versions v WHERE v.file_id = OLD.id AND v.blob_key = OLD.blob_key)
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_content_replaced AFTER UPDATE OF blob_key ON files
  FOR EACH ROW WHEN (old.blob_key IS DISTINCT FROM new.blob_key)
  EXECUTE FUNCTION quarantine_replaced_content();
