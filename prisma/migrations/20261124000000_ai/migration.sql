-- CreateEnum
CREATE TYPE "DocumentStatus" AS ENUM ('queued', 'processing', 'ready', 'failed');

-- CreateEnum
CREATE TYPE "SessionStatus" AS ENUM ('active', 'archived');

-- CreateEnum
CREATE TYPE "MessageRole" AS ENUM ('system', 'user', 'assistant');

-- CreateEnum
CREATE TYPE "MessageStatus" AS ENUM ('in_progress', 'completed', 'incomplete', 'cancelled', 'failed');

-- CreateTable
CREATE TABLE "knowledge_bases" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "max_tokens" INTEGER NOT NULL,
    "overlap_tokens" INTEGER NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_bases_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "documents" (
    "id" TEXT NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "file_id" TEXT,
    "name" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "status" "DocumentStatus" NOT NULL DEFAULT 'queued',
    "error" JSONB,
    "sha256" TEXT NOT NULL,
    "source" TEXT,
    "wanted" INTEGER NOT NULL DEFAULT 1,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "tokens" INTEGER NOT NULL DEFAULT 0,
    "chunk_count" INTEGER NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "indexed_at" TIMESTAMPTZ(3),

    CONSTRAINT "documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "document_counts" (
    "knowledge_base_id" TEXT NOT NULL,
    "status" "DocumentStatus" NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "document_counts_pkey" PRIMARY KEY ("knowledge_base_id","status")
);

-- CreateTable
CREATE TABLE "document_texts" (
    "document_id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "pages" JSONB,

    CONSTRAINT "document_texts_pkey" PRIMARY KEY ("document_id")
);

-- CreateTable
CREATE TABLE "chunks" (
    "id" TEXT NOT NULL,
    "document_id" TEXT NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "start_index" INTEGER NOT NULL,
    "end_index" INTEGER NOT NULL,
    "page" INTEGER,
    "heading" TEXT,
    "tokens" INTEGER NOT NULL,
    "text" TEXT NOT NULL,

    CONSTRAINT "chunks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ai_sessions" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "title" TEXT,
    "model" TEXT,
    "system_prompt" TEXT,
    "knowledge_base_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "status" "SessionStatus" NOT NULL DEFAULT 'active',
    "message_count" INTEGER NOT NULL DEFAULT 0,
    "last_message_at" TIMESTAMPTZ(3),
    "prompt_tokens" BIGINT NOT NULL DEFAULT 0,
    "completion_tokens" BIGINT NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ai_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ai_messages" (
    "id" TEXT NOT NULL,
    "session_id" TEXT,
    "user_id" TEXT NOT NULL,
    "api_key_id" TEXT,
    "role" "MessageRole" NOT NULL,
    "content" TEXT NOT NULL DEFAULT '',
    "status" "MessageStatus" NOT NULL DEFAULT 'completed',
    "model" TEXT,
    "finish_reason" TEXT,
    "prompt_tokens" INTEGER NOT NULL DEFAULT 0,
    "completion_tokens" INTEGER NOT NULL DEFAULT 0,
    "citations" JSONB NOT NULL DEFAULT '[]',
    "error" JSONB,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "space_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "position" INTEGER NOT NULL DEFAULT 0,
    "key_digest" BYTEA,
    "body_hash" BYTEA,
    "beat_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ai_messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ai_usage" (
    "api_key_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "requests" INTEGER NOT NULL DEFAULT 0,
    "prompt_tokens" BIGINT NOT NULL DEFAULT 0,
    "completion_tokens" BIGINT NOT NULL DEFAULT 0,
    "cost_micros" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "ai_usage_pkey" PRIMARY KEY ("api_key_id","day")
);

-- CreateIndex
CREATE INDEX "knowledge_bases_space_id_id_idx" ON "knowledge_bases"("space_id", "id");

-- CreateIndex
CREATE INDEX "knowledge_bases_project_id_idx" ON "knowledge_bases"("project_id");

-- CreateIndex
CREATE INDEX "knowledge_bases_owner_id_idx" ON "knowledge_bases"("owner_id");

-- CreateIndex
CREATE INDEX "documents_knowledge_base_id_id_idx" ON "documents"("knowledge_base_id", "id");

-- CreateIndex
CREATE INDEX "documents_file_id_idx" ON "documents"("file_id");

-- CreateIndex
CREATE UNIQUE INDEX "documents_knowledge_base_id_sha256_key" ON "documents"("knowledge_base_id", "sha256");

-- CreateIndex
CREATE INDEX "chunks_document_id_position_idx" ON "chunks"("document_id", "position");

-- CreateIndex
CREATE INDEX "ai_sessions_space_id_id_idx" ON "ai_sessions"("space_id", "id");

-- CreateIndex
CREATE INDEX "ai_sessions_space_id_updated_at_id_idx" ON "ai_sessions"("space_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "ai_sessions_project_id_idx" ON "ai_sessions"("project_id");

-- CreateIndex
CREATE INDEX "ai_sessions_owner_id_idx" ON "ai_sessions"("owner_id");

-- CreateIndex
CREATE INDEX "ai_messages_session_id_position_idx" ON "ai_messages"("session_id", "position");

-- CreateIndex
CREATE INDEX "ai_messages_user_id_idx" ON "ai_messages"("user_id");

-- CreateIndex
CREATE INDEX "ai_usage_day_idx" ON "ai_usage"("day");

-- AddForeignKey
ALTER TABLE "knowledge_bases" ADD CONSTRAINT "knowledge_bases_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "knowledge_bases" ADD CONSTRAINT "knowledge_bases_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "documents" ADD CONSTRAINT "documents_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "documents" ADD CONSTRAINT "documents_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_counts" ADD CONSTRAINT "document_counts_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_texts" ADD CONSTRAINT "document_texts_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chunks" ADD CONSTRAINT "chunks_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_messages" ADD CONSTRAINT "ai_messages_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "ai_sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_messages" ADD CONSTRAINT "ai_messages_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

ALTER TABLE "knowledge_bases"
  ADD CONSTRAINT "knowledge_bases_space" CHECK ("space_id" = coalesce("project_id", "owner_id")),
  ADD CONSTRAINT "knowledge_bases_chunking" CHECK ("overlap_tokens" * 2 <= "max_tokens");
ALTER TABLE "ai_sessions"
  ADD CONSTRAINT "ai_sessions_space" CHECK ("space_id" = coalesce("project_id", "owner_id")),
  ALTER COLUMN "knowledge_base_ids" SET NOT NULL;
ALTER TABLE "ai_messages"
  ADD CONSTRAINT "ai_messages_beat" CHECK (("status" = 'in_progress') = ("beat_at" IS NOT NULL)),
  ALTER COLUMN "space_ids" SET NOT NULL;
ALTER TABLE "documents" ADD CONSTRAINT "documents_source" CHECK (("file_id" IS NULL) = ("source" IS NOT NULL));
ALTER TABLE "chunks" ADD CONSTRAINT "chunks_range" CHECK ("start_index" < "end_index");

CREATE INDEX "knowledge_bases_name_idx" ON "knowledge_bases"("space_id", lower("name"), "id");
CREATE INDEX "documents_name_idx" ON "documents"("knowledge_base_id", lower("name"), "id");
CREATE INDEX "documents_waiting_idx" ON "documents"("updated_at") WHERE "status" IN ('queued', 'processing');

-- A session is answered one message at a time.
CREATE UNIQUE INDEX "ai_messages_one_answer_idx" ON "ai_messages"("session_id") WHERE "status" = 'in_progress';
CREATE INDEX "ai_messages_written_idx" ON "ai_messages"("api_key_id") WHERE "status" = 'in_progress';
CREATE UNIQUE INDEX "ai_messages_keyed_idx" ON "ai_messages"("user_id", "key_digest") WHERE "key_digest" IS NOT NULL;
CREATE INDEX "ai_messages_unstored_idx" ON "ai_messages"("created_at") WHERE "session_id" IS NULL;

-- How many documents a knowledge base has follows them, statement by statement.
CREATE FUNCTION "count_documents"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, count(*) FROM added GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE document_counts c SET count = c.count - gone.count
    FROM (SELECT knowledge_base_id, status, count(*) AS count FROM removed GROUP BY 1, 2) gone
    WHERE c.knowledge_base_id = gone.knowledge_base_id AND c.status = gone.status;
  ELSE
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, sum(n) FROM (
      SELECT knowledge_base_id, status, 1 AS n FROM added UNION ALL SELECT knowledge_base_id, status, -1 FROM removed
    ) moved GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "documents_added" AFTER INSERT ON "documents" REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION "count_documents"();
CREATE TRIGGER "documents_removed" AFTER DELETE ON "documents" REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION "count_documents"();
CREATE TRIGGER "documents_moved" AFTER UPDATE ON "documents" REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION "count_documents"();
