-- AlterTable
ALTER TABLE "documents" ADD COLUMN     "charset" TEXT,
ADD COLUMN     "warnings" JSONB NOT NULL DEFAULT '[]';
