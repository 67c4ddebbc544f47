-- AlterTable
ALTER TABLE "sign_ins" ADD COLUMN     "refreshed_at" TIMESTAMPTZ(3)[] DEFAULT ARRAY[]::TIMESTAMPTZ(3)[];
