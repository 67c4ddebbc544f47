-- DropIndex
DROP INDEX "ai_sessions_owner_id_idx";

-- DropIndex
DROP INDEX "file_links_created_by_idx";

-- DropIndex
DROP INDEX "files_owner_id_idx";

-- DropIndex
DROP INDEX "knowledge_bases_owner_id_idx";

-- AlterTable
ALTER TABLE "documents" ADD COLUMN     "created_by" TEXT;

-- AlterTable
ALTER TABLE "projects" ADD COLUMN     "created_by" TEXT;

-- CreateIndex
CREATE INDEX "ai_sessions_owner_id_workspace_id_id_idx" ON "ai_sessions"("owner_id", "workspace_id", "id");

-- CreateIndex
CREATE INDEX "documents_created_by_idx" ON "documents"("knowledge_base_id", "created_by", "id");

-- CreateIndex
CREATE INDEX "file_links_created_by_created_at_id_idx" ON "file_links"("created_by", "created_at", "id");

-- CreateIndex
CREATE INDEX "files_owner_id_workspace_id_id_idx" ON "files"("owner_id", "workspace_id", "id");

-- CreateIndex
CREATE INDEX "knowledge_bases_owner_id_workspace_id_id_idx" ON "knowledge_bases"("owner_id", "workspace_id", "id");
