-- Queues the images of deleted avatars for deletion.
CREATE OR REPLACE FUNCTION queue_blobs_of_deleted_avatars()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO deleted_blobs (key)
  SELECT id || '-' || size FROM removed, unnest(ARRAY[64, 128, 256]) size ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER avatars_removed AFTER DELETE ON avatars
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION queue_blobs_of_deleted_avatars();
