-- The key contains the user, so that requests can be distributed by it. Servers of version 1.12 need the unique
-- index on the id.

-- DropIndex
DROP INDEX "api_requests_user_id_id_idx";

-- AlterTable
ALTER TABLE "api_requests" DROP CONSTRAINT "api_requests_pkey",
ADD CONSTRAINT "api_requests_pkey" PRIMARY KEY ("user_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "api_requests_id_key" ON "api_requests"("id");
