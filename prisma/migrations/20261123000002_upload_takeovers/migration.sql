-- AlterTable
ALTER TABLE "uploads" ADD COLUMN "staged_as" TEXT;
