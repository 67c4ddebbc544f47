-- Plain names: the queue of deleted blobs, and the columns of a resumable upload. No data changes.
ALTER TABLE "doomed_blobs" RENAME TO "deleted_blobs";
ALTER TABLE "deleted_blobs" RENAME COLUMN "doomed_at" TO "delete_after";
ALTER TABLE "deleted_blobs" RENAME CONSTRAINT "doomed_blobs_pkey" TO "deleted_blobs_pkey";
ALTER INDEX "doomed_blobs_doomed_at_idx" RENAME TO "deleted_blobs_delete_after_idx";

ALTER TABLE "uploads" RENAME COLUMN "given" TO "raw_metadata";
ALTER TABLE "uploads" RENAME COLUMN "staged_as" TO "temp_name";
ALTER TABLE "uploads" RENAME COLUMN "wanted_at" TO "lease_requested_at";

-- The body of a PL/pgSQL function is text: it does not follow a renamed table and is replaced.
-- A trigger does follow its renamed function.
ALTER FUNCTION "doom_old_files"() RENAME TO "queue_blobs_of_deleted_files";
ALTER FUNCTION "doom_old_avatars"() RENAME TO "queue_blobs_of_deleted_avatars";

-- Subtracts deleted files from the usage, and queues their blobs for deletion.
CREATE OR REPLACE FUNCTION "queue_blobs_of_deleted_files"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes
  FROM (SELECT space_id, count(*) AS files, sum(bytes) AS bytes FROM removed GROUP BY space_id) deleted
  WHERE u.space_id = deleted.space_id;
  INSERT INTO deleted_blobs (key) SELECT blob_key FROM removed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION "queue_blobs_of_deleted_avatars"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deleted_blobs (key)
  SELECT id || '-' || size FROM removed, unnest(ARRAY[64, 128, 256]) size ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
