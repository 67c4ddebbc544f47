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
