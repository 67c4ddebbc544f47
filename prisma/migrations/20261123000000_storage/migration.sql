-- CreateEnum
CREATE TYPE "FileVisibility" AS ENUM ('private', 'public');

-- CreateTable
CREATE TABLE "files" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL DEFAULT '',
    "content_type" TEXT NOT NULL,
    "declared_content_type" TEXT,
    "bytes" BIGINT NOT NULL,
    "sha256" TEXT NOT NULL,
    "visibility" "FileVisibility" NOT NULL DEFAULT 'private',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "download_count" BIGINT NOT NULL DEFAULT 0,
    "blob_key" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "files_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "storage_usage" (
    "space_id" TEXT NOT NULL,
    "files" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "storage_usage_pkey" PRIMARY KEY ("space_id")
);

-- CreateTable
CREATE TABLE "doomed_blobs" (
    "key" TEXT NOT NULL,
    "doomed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "doomed_blobs_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "file_links" (
    "id" TEXT NOT NULL,
    "file_id" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "max_downloads" INTEGER,
    "download_count" INTEGER NOT NULL DEFAULT 0,
    "created_by" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "file_links_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "avatars" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "variants" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "avatars_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "files_blob_key_key" ON "files"("blob_key");

-- CreateIndex
CREATE INDEX "files_space_id_id_idx" ON "files"("space_id", "id");

-- CreateIndex
CREATE INDEX "files_space_id_bytes_id_idx" ON "files"("space_id", "bytes", "id");

-- CreateIndex
CREATE INDEX "files_project_id_idx" ON "files"("project_id");

-- CreateIndex
CREATE INDEX "files_owner_id_idx" ON "files"("owner_id");

-- CreateIndex
CREATE INDEX "doomed_blobs_doomed_at_idx" ON "doomed_blobs"("doomed_at");

-- CreateIndex
CREATE UNIQUE INDEX "file_links_digest_key" ON "file_links"("digest");

-- CreateIndex
CREATE INDEX "file_links_file_id_created_at_id_idx" ON "file_links"("file_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "file_links_created_by_idx" ON "file_links"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "avatars_user_id_key" ON "avatars"("user_id");

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_links" ADD CONSTRAINT "file_links_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_links" ADD CONSTRAINT "file_links_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

ALTER TABLE "files"
  ADD CONSTRAINT "files_space" CHECK ("space_id" = coalesce("project_id", "owner_id")),
  ADD CONSTRAINT "files_bytes" CHECK ("bytes" >= 0),
  ALTER COLUMN "tags" SET NOT NULL;
ALTER TABLE "storage_usage" ADD CONSTRAINT "storage_usage_positive" CHECK ("files" >= 0 AND "bytes" >= 0);
ALTER TABLE "file_links" ADD CONSTRAINT "file_links_max_downloads" CHECK ("download_count" <= "max_downloads");

-- The lists of files by name, type and folder, and the search in their names.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX "files_name_idx" ON "files"("space_id", lower("name"), "id");
CREATE INDEX "files_type_idx" ON "files"("space_id", "content_type" COLLATE "C", "id");
CREATE INDEX "files_path_idx" ON "files"("space_id", "path" COLLATE "C", "id");
CREATE INDEX "files_search_idx" ON "files" USING gin (lower("name") gin_trgm_ops);
CREATE INDEX "files_tags_idx" ON "files" USING gin ("tags");
CREATE INDEX "files_expires_at_idx" ON "files"("expires_at") WHERE "expires_at" IS NOT NULL;

-- What a space has follows its files, statement by statement.
CREATE FUNCTION "count_new_files"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO storage_usage AS u (space_id, files, bytes)
  SELECT space_id, count(*), sum(bytes) FROM added GROUP BY space_id ORDER BY space_id
  ON CONFLICT (space_id) DO UPDATE SET files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER "files_added" AFTER INSERT ON "files" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION "count_new_files"();

-- However a file goes, its blob follows: by a job, which this table is the list of.
CREATE FUNCTION "doom_old_files"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE storage_usage u SET files = u.files - gone.files, bytes = u.bytes - gone.bytes
  FROM (SELECT space_id, count(*) AS files, sum(bytes) AS bytes FROM removed GROUP BY space_id) gone
  WHERE u.space_id = gone.space_id;
  INSERT INTO doomed_blobs (key) SELECT blob_key FROM removed ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER "files_removed" AFTER DELETE ON "files" REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION "doom_old_files"();

CREATE FUNCTION "doom_old_avatars"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO doomed_blobs (key) SELECT id || '-' || size FROM removed, unnest(ARRAY[64, 128, 256]) size ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER "avatars_removed" AFTER DELETE ON "avatars" REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION "doom_old_avatars"();
