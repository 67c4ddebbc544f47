-- CreateTable
CREATE TABLE "archives" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "files" INTEGER NOT NULL,
    "directory" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "archives_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "archive_entries" (
    "archive_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "file_id" TEXT NOT NULL,
    "blob_key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "modified_at" TIMESTAMPTZ(3) NOT NULL,
    "offset" BIGINT NOT NULL,
    "central_offset" BIGINT NOT NULL,
    "crc32" BIGINT,

    CONSTRAINT "archive_entries_pkey" PRIMARY KEY ("archive_id","number")
);

-- CreateIndex
CREATE INDEX "archives_owner_id_id_idx" ON "archives"("owner_id", "id");

-- CreateIndex
CREATE INDEX "archives_project_id_idx" ON "archives"("project_id");

-- CreateIndex
CREATE INDEX "archives_expires_at_idx" ON "archives"("expires_at");

-- AddForeignKey
ALTER TABLE "archives" ADD CONSTRAINT "archives_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "archives" ADD CONSTRAINT "archives_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "archive_entries" ADD CONSTRAINT "archive_entries_archive_id_fkey" FOREIGN KEY ("archive_id") REFERENCES "archives"("id") ON DELETE CASCADE ON UPDATE CASCADE;
