-- AlterTable
ALTER TABLE "files" ADD COLUMN     "content_by" TEXT,
ADD COLUMN     "content_updated_at" TIMESTAMPTZ(3),
ADD COLUMN     "version" INTEGER NOT NULL DEFAULT 1;

-- AlterTable
ALTER TABLE "storage_usage" ADD COLUMN     "version_bytes" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "versions" BIGINT NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "file_versions" (
    "id" TEXT NOT NULL,
    "file_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "blob_key" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "declared_content_type" TEXT,
    "bytes" BIGINT NOT NULL,
    "sha256" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "replaced_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "file_versions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "file_versions_blob_key_idx" ON "file_versions"("blob_key");

-- CreateIndex
CREATE INDEX "file_versions_created_by_idx" ON "file_versions"("created_by");

-- CreateIndex
CREATE INDEX "file_versions_replaced_at_idx" ON "file_versions"("replaced_at");

-- CreateIndex
CREATE UNIQUE INDEX "file_versions_file_id_number_key" ON "file_versions"("file_id", "number");

-- AddForeignKey
ALTER TABLE "file_versions" ADD CONSTRAINT "file_versions_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_versions" ADD CONSTRAINT "file_versions_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Adds new versions of files to the storage usage.
CREATE OR REPLACE FUNCTION count_file_versions()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_usage AS u (workspace_id, versions, version_bytes)
  SELECT workspace_id, count(*), sum(bytes) FROM added GROUP BY workspace_id ORDER BY workspace_id
  ON CONFLICT (workspace_id) DO UPDATE SET versions = u.versions + excluded.versions,
    version_bytes = u.version_bytes + excluded.version_bytes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER file_versions_added AFTER INSERT ON file_versions
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_file_versions();

-- The versions of a file move with it to another workspace, and count in the storage usage there.
CREATE OR REPLACE FUNCTION move_file_versions()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  moved record;
  u record;
BEGIN
  WITH versions AS (
    UPDATE file_versions SET workspace_id = NEW.workspace_id WHERE file_id = NEW.id RETURNING bytes
  )
  SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes INTO moved FROM versions;
  IF moved.n = 0 THEN
    RETURN NULL;
  END IF;
  FOR u IN
    SELECT * FROM (VALUES (OLD.workspace_id, -1), (NEW.workspace_id, 1)) AS w (workspace_id, sign)
    ORDER BY workspace_id
  LOOP
    INSERT INTO storage_usage (workspace_id) VALUES (u.workspace_id) ON CONFLICT DO NOTHING;
    UPDATE storage_usage s SET versions = s.versions + u.sign * moved.n,
      version_bytes = s.version_bytes + u.sign * moved.bytes
    WHERE s.workspace_id = u.workspace_id;
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_moved AFTER UPDATE OF workspace_id ON files
  FOR EACH ROW WHEN (old.workspace_id IS DISTINCT FROM new.workspace_id)
  EXECUTE FUNCTION move_file_versions();

-- Subtracts deleted versions of files from the storage usage, and puts their blobs into quarantine. Another
-- row may have the same blob: see `quarantine_deleted_files`.
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
  SELECT DISTINCT blob_key, 'deleted'::"QuarantineReason" FROM removed ORDER BY 1
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER file_versions_removed AFTER DELETE ON file_versions
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_versions();

-- Puts the former blob of a file into quarantine when the file gets another one. If a version keeps the blob,
-- the sweep takes it out again.
CREATE OR REPLACE FUNCTION quarantine_replaced_content()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT OLD.blob_key, 'deleted'::"QuarantineReason"
  WHERE NOT EXISTS (SELECT FROM file_versions v WHERE v.blob_key = OLD.blob_key)
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_content_replaced AFTER UPDATE OF blob_key ON files
  FOR EACH ROW WHEN (old.blob_key IS DISTINCT FROM new.blob_key)
  EXECUTE FUNCTION quarantine_replaced_content();

-- The bytes that count against the quota of a workspace: its files and their versions, the whole length of
-- its unfinished uploads (`taken`), and with them the bytes that uploads in progress have reserved (`used`).
-- `besides` is the id of an upload or a reservation that does not count. A reservation that its server no
-- longer renews has ended.
CREATE OR REPLACE FUNCTION storage_use(workspace text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE sql
STABLE
AS $function$
  SELECT t.taken, t.taken + coalesce((
    SELECT sum(bytes) FROM storage_reservations
    WHERE workspace_id = workspace AND held_until > now() AND id IS DISTINCT FROM besides
  ), 0)::bigint
  FROM (SELECT (
    coalesce((SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = workspace), 0)
    + coalesce((
      SELECT sum(length) FROM uploads
      WHERE workspace_id = workspace AND file_id IS NULL AND expires_at > now()
        AND id IS DISTINCT FROM besides
    ), 0)
  )::bigint AS taken) t
$function$;
