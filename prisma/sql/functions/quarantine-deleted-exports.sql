-- Puts the files of deleted exports into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_exports()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT blob_key, 'deleted' FROM removed WHERE blob_key IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER account_exports_removed AFTER DELETE ON account_exports
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_exports();
