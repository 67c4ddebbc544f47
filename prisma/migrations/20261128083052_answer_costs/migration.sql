-- AlterTable
ALTER TABLE "ai_messages" ADD COLUMN     "cost_micros" BIGINT,
ADD COLUMN     "provider" TEXT;

-- AlterTable
ALTER TABLE "documents" ADD COLUMN     "embedding_model" TEXT;
