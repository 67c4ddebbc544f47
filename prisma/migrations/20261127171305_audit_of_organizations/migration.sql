-- AlterTable
ALTER TABLE "audit_entries" ADD COLUMN     "organization_id" TEXT;

-- CreateIndex
CREATE INDEX "audit_entries_organization_id_id_idx" ON "audit_entries"("organization_id", "id");

-- CreateIndex
CREATE INDEX "audit_entries_project_id_id_idx" ON "audit_entries"("project_id", "id");

-- CreateIndex
CREATE INDEX "audit_entries_resource_id_id_idx" ON "audit_entries"("resource_id", "id");

-- CreateIndex
CREATE INDEX "audit_entries_ip_id_idx" ON "audit_entries"("ip", "id");
