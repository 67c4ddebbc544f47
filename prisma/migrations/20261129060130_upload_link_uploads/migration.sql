-- AlterTable
ALTER TABLE "uploads" ADD COLUMN     "upload_link_id" TEXT;

-- CreateIndex
CREATE INDEX "uploads_upload_link_id_idx" ON "uploads"("upload_link_id");

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_upload_link_id_fkey" FOREIGN KEY ("upload_link_id") REFERENCES "upload_links"("id") ON DELETE CASCADE ON UPDATE CASCADE;
