-- The identity of the database: a file store belongs to the database whose id is in its marker.
CREATE TABLE "database_identity" (
  "id" INTEGER NOT NULL DEFAULT 1,
  "database_id" TEXT NOT NULL,
  "sweep_id" TEXT,
  "sweep_began_at" TIMESTAMPTZ(3),
  "swept_at" TIMESTAMPTZ(3),
  CONSTRAINT "database_identity_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "database_identity_single" CHECK ("id" = 1)
);
INSERT INTO "database_identity" ("database_id")
  VALUES ('db_' || replace(gen_random_uuid()::text, '-', ''));

-- The blobs of deleted files wait in a quarantine, together with blobs that have no row. A server of an
-- earlier version no longer finds its table, so it removes no blob of a deleted file.
CREATE TYPE "QuarantineReason" AS ENUM ('deleted', 'unknown');
ALTER TABLE "deleted_blobs" RENAME TO "quarantined_blobs";
ALTER TABLE "quarantined_blobs" RENAME CONSTRAINT "deleted_blobs_pkey" TO "quarantined_blobs_pkey";
ALTER TABLE "quarantined_blobs" RENAME COLUMN "delete_after" TO "since";
DROP INDEX "deleted_blobs_delete_after_idx";
ALTER TABLE "quarantined_blobs"
  ADD COLUMN "reason" "QuarantineReason" NOT NULL DEFAULT 'deleted',
  ADD COLUMN "bytes" BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN "sweep_id" TEXT;
ALTER TABLE "quarantined_blobs" ALTER COLUMN "reason" DROP DEFAULT;

ALTER FUNCTION "queue_blobs_of_deleted_files"() RENAME TO "quarantine_deleted_files";
ALTER FUNCTION "queue_blobs_of_deleted_avatars"() RENAME TO "quarantine_deleted_avatars";

CREATE OR REPLACE FUNCTION quarantine_deleted_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes
  FROM (SELECT space_id, count(*) AS files, sum(bytes) AS bytes FROM removed GROUP BY space_id) deleted
  WHERE u.space_id = deleted.space_id;
  INSERT INTO quarantined_blobs (key, reason) SELECT blob_key, 'deleted' FROM removed
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

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
