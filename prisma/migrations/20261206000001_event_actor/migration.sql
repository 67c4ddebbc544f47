-- AlterTable
ALTER TABLE "events" ADD COLUMN     "actor" JSONB;
