-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "replaced_by" TEXT;
