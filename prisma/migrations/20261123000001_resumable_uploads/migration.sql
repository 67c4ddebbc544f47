-- CreateTable
CREATE TABLE "uploads" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "user_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL DEFAULT '',
    "declared_content_type" TEXT,
    "visibility" "FileVisibility" NOT NULL DEFAULT 'private',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "file_expires_at" TIMESTAMPTZ(3),
    "sha256" TEXT,
    "given" TEXT NOT NULL,
    "length" BIGINT NOT NULL,
    "received" BIGINT NOT NULL DEFAULT 0,
    "file_id" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "holder" TEXT,
    "held_until" TIMESTAMPTZ(3),
    "wanted_at" TIMESTAMPTZ(3),

    CONSTRAINT "uploads_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "uploads_file_id_key" ON "uploads"("file_id");

-- CreateIndex
CREATE INDEX "uploads_space_id_idx" ON "uploads"("space_id");

-- CreateIndex
CREATE INDEX "uploads_project_id_idx" ON "uploads"("project_id");

-- CreateIndex
CREATE INDEX "uploads_user_id_idx" ON "uploads"("user_id");

-- CreateIndex
CREATE INDEX "uploads_expires_at_idx" ON "uploads"("expires_at");

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the Prisma schema cannot say.

ALTER TABLE "uploads"
  ADD CONSTRAINT "uploads_space" CHECK ("space_id" = coalesce("project_id", "user_id")),
  ADD CONSTRAINT "uploads_received" CHECK ("received" >= 0 AND "received" <= "length"),
  ADD CONSTRAINT "uploads_finished" CHECK ("file_id" IS NULL OR "received" = "length"),
  ALTER COLUMN "tags" SET NOT NULL;
