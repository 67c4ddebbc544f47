-- All three are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS "unaccent";
CREATE EXTENSION IF NOT EXISTS "pg_trgm";
CREATE EXTENSION IF NOT EXISTS "btree_gin";

-- pgvector, where the server has it and lets us: without it vectors are compared in SQL, of fewer chunks.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
    CREATE EXTENSION IF NOT EXISTS "vector";
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'pgvector is installed, but may not be created by %', current_user;
END $$;

-- AlterTable
ALTER TABLE "chunks" ADD COLUMN     "embedding" REAL[],
ADD COLUMN     "language" TEXT NOT NULL DEFAULT 'simple',
ADD COLUMN     "term_counts" SMALLINT[],
ADD COLUMN     "terms" INTEGER[];

-- CreateTable
CREATE TABLE "lexemes" (
    "id" SERIAL NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "lexeme" TEXT NOT NULL COLLATE "C",
    "chunks" INTEGER NOT NULL,

    CONSTRAINT "lexemes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "chunk_counts" (
    "knowledge_base_id" TEXT NOT NULL,
    "language" TEXT NOT NULL,
    "chunks" INTEGER NOT NULL,
    "tokens" BIGINT NOT NULL,

    CONSTRAINT "chunk_counts_pkey" PRIMARY KEY ("knowledge_base_id","language")
);

-- CreateTable
CREATE TABLE "removed_chunks" (
    "id" BIGSERIAL NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "language" TEXT NOT NULL,
    "tokens" INTEGER NOT NULL,
    "terms" INTEGER[],

    CONSTRAINT "removed_chunks_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "removed_chunks_knowledge_base_id_id_idx" ON "removed_chunks"("knowledge_base_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "lexemes_knowledge_base_id_lexeme_key" ON "lexemes"("knowledge_base_id", "lexeme");

-- AddForeignKey
ALTER TABLE "chunk_counts" ADD CONSTRAINT "chunk_counts_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

-- The numbers below zero too: a lexeme that comes back after its last chunk was deleted takes a new one.
ALTER SEQUENCE "lexemes_id_seq" MINVALUE -2147483648 RESTART -2147483648;
ALTER TABLE "lexemes"
  ADD CONSTRAINT "lexemes_chunks" CHECK ("chunks" >= 0),
  SET (fillfactor = 80);

-- A lexeme's number belongs to one knowledge base, so the index finds chunks of that one alone.
UPDATE "chunks" SET "terms" = '{}', "term_counts" = '{}';
ALTER TABLE "chunks"
  ALTER COLUMN "terms" SET NOT NULL,
  ALTER COLUMN "terms" SET STORAGE MAIN,
  ALTER COLUMN "term_counts" SET NOT NULL,
  ALTER COLUMN "term_counts" SET STORAGE MAIN,
  ALTER COLUMN "embedding" SET STORAGE EXTERNAL,
  ADD CONSTRAINT "chunks_terms" CHECK (cardinality("terms") = cardinality("term_counts"));
CREATE INDEX "chunks_terms_idx" ON "chunks" USING gin ("terms") WITH (gin_pending_list_limit = 1024);
CREATE INDEX "chunks_embedded_idx" ON "chunks"("knowledge_base_id") WHERE "embedding" IS NOT NULL;

-- For words that no lexeme matches, and for names that have the words of a question.
CREATE INDEX "lexemes_similar_idx" ON "lexemes" USING gin ("knowledge_base_id", "lexeme" gin_trgm_ops) WHERE length("lexeme") >= 4;
CREATE INDEX "documents_words_idx" ON "documents" USING gin ("knowledge_base_id", lower("name") gin_trgm_ops);

-- Lexemes like a word, the most alike first.
CREATE FUNCTION "similar_lexemes"("bases" TEXT[], "word" TEXT, "most" INTEGER) RETURNS TABLE ("lexeme" TEXT, "alike" REAL)
LANGUAGE sql STABLE SET pg_trgm.similarity_threshold = 0.45 AS $$
  SELECT l.lexeme, max(similarity(l.lexeme, word)) AS alike FROM lexemes l
  WHERE l.knowledge_base_id = ANY(bases) AND length(l.lexeme) >= 4 AND l.lexeme % word AND abs(length(l.lexeme) - length(word)) <= 3
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT most
$$;

-- Who changes the lexemes of a knowledge base holds this until its transaction ends, so that they are changed in any order.
CREATE FUNCTION "hold_lexemes"("base" TEXT) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended(base, 7311903266))
$$;

-- To discount the lexemes of what is deleted takes fifty times as long as to delete it: it is noted, and done step by step
-- (services/ai/waste.ts).
CREATE FUNCTION "note_removed_chunks"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO removed_chunks (knowledge_base_id, language, tokens, terms)
  SELECT r.knowledge_base_id, r.language, r.tokens, r.terms FROM removed r JOIN knowledge_bases k ON k.id = r.knowledge_base_id;
  RETURN NULL;
END $$;
CREATE TRIGGER "chunks_removed" AFTER DELETE ON "chunks" REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION "note_removed_chunks"();

-- One row without terms for a knowledge base: whatever lexemes it had are over.
CREATE FUNCTION "note_removed_knowledge"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO removed_chunks (knowledge_base_id, language, tokens, terms) SELECT id, 'simple', 0, '{}' FROM removed;
  RETURN NULL;
END $$;
CREATE TRIGGER "knowledge_bases_removed" AFTER DELETE ON "knowledge_bases" REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION "note_removed_knowledge"();
