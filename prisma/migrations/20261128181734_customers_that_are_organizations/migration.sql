-- AlterTable
ALTER TABLE "customers" ADD COLUMN     "buyer_organization_id" TEXT;

-- AddForeignKey
ALTER TABLE "customers" ADD CONSTRAINT "customers_buyer_organization_id_fkey" FOREIGN KEY ("buyer_organization_id") REFERENCES "organizations"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- An organization that buys is one living customer.
CREATE UNIQUE INDEX customers_buyer_idx ON customers (buyer_organization_id)
  WHERE buyer_organization_id IS NOT NULL AND deleted_at IS NULL;
