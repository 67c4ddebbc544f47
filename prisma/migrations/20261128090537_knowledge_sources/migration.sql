-- CreateEnum
CREATE TYPE "knowledge_source_type" AS ENUM ('page', 'sitemap');

-- CreateEnum
CREATE TYPE "knowledge_source_status" AS ENUM ('queued', 'syncing', 'synced', 'failed');

-- CreateTable
CREATE TABLE "knowledge_sources" (
    "id" TEXT NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "type" "knowledge_source_type" NOT NULL,
    "url" TEXT NOT NULL,
    "sync_interval_hours" INTEGER,
    "status" "knowledge_source_status" NOT NULL DEFAULT 'queued',
    "error" JSONB,
    "last_sync" JSONB,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "run" INTEGER NOT NULL DEFAULT 0,
    "leased_until" TIMESTAMPTZ(3),
    "last_synced_at" TIMESTAMPTZ(3),
    "next_sync_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_sources_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "source_pages" (
    "source_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "document_id" TEXT NOT NULL,
    "etag" TEXT,
    "last_modified" TEXT,
    "is_owner" BOOLEAN NOT NULL,
    "checked_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "source_pages_pkey" PRIMARY KEY ("source_id","url")
);

-- CreateIndex
CREATE INDEX "knowledge_sources_knowledge_base_id_id_idx" ON "knowledge_sources"("knowledge_base_id", "id");

-- CreateIndex
CREATE INDEX "knowledge_sources_next_sync_at_idx" ON "knowledge_sources"("next_sync_at");

-- CreateIndex
CREATE INDEX "knowledge_sources_leased_until_idx" ON "knowledge_sources"("leased_until");

-- CreateIndex
CREATE UNIQUE INDEX "knowledge_sources_knowledge_base_id_url_key" ON "knowledge_sources"("knowledge_base_id", "url");

-- CreateIndex
CREATE INDEX "source_pages_document_id_idx" ON "source_pages"("document_id");

-- AddForeignKey
ALTER TABLE "knowledge_sources" ADD CONSTRAINT "knowledge_sources_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "source_pages" ADD CONSTRAINT "source_pages_source_id_fkey" FOREIGN KEY ("source_id") REFERENCES "knowledge_sources"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "source_pages" ADD CONSTRAINT "source_pages_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;
