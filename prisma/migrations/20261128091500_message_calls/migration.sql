-- AlterTable
ALTER TABLE "ai_messages" ADD COLUMN     "refusal" TEXT,
ADD COLUMN     "tool_calls" JSONB;
