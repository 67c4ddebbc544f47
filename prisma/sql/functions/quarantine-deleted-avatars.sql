-- Puts the images of deleted avatars into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_avatars()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT id || '-' || size, 'deleted' FROM removed, unnest(ARRAY[64, 128, 256]) size
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER avatars_removed AFTER DELETE ON avatars
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_avatars();
