-- AlterTable
ALTER TABLE "ai_messages" ADD COLUMN     "image_file_ids" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];
