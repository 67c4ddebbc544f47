-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "uncredited_amount" BIGINT NOT NULL DEFAULT 0;
