-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "began_at" TIMESTAMPTZ(3);
