-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "created_by" TEXT;

-- CreateIndex
CREATE INDEX "orders_created_by_id_idx" ON "orders"("created_by", "id");
