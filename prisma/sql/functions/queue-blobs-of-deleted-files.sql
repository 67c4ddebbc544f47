-- Subtracts deleted files from the storage usage and queues their blobs for deletion.
CREATE OR REPLACE FUNCTION queue_blobs_of_deleted_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes
  FROM (SELECT space_id, count(*) AS files, sum(bytes) AS bytes FROM removed GROUP BY space_id) deleted
  WHERE u.space_id = deleted.space_id;
  INSERT INTO deleted_blobs (key) SELECT blob_key FROM removed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_removed AFTER DELETE ON files
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION queue_blobs_of_deleted_files();
