-- What grows with the texts of a knowledge base has keys that contain the knowledge base, and no foreign keys,
-- so that it can be distributed by it. Searches read only these tables.

-- DropForeignKey
ALTER TABLE "chunks" DROP CONSTRAINT "chunks_document_id_fkey";

-- DropForeignKey
ALTER TABLE "document_texts" DROP CONSTRAINT "document_texts_document_id_fkey";

-- DropIndex
DROP INDEX "removed_chunks_knowledge_base_id_id_idx";

-- AlterTable
ALTER TABLE "chunks" DROP CONSTRAINT "chunks_pkey",
ADD CONSTRAINT "chunks_pkey" PRIMARY KEY ("knowledge_base_id", "id");

-- AlterTable
ALTER TABLE "document_texts"
ADD COLUMN     "embedding_model" TEXT,
ADD COLUMN     "is_searchable" BOOLEAN NOT NULL DEFAULT true,
ADD COLUMN     "knowledge_base_id" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "metadata" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "name" TEXT NOT NULL DEFAULT '';

UPDATE document_texts t SET knowledge_base_id = d.knowledge_base_id, name = d.name, metadata = d.metadata,
  embedding_model = d.embedding_model, is_searchable = d.status <> 'failed'
FROM documents d WHERE d.id = t.document_id;

ALTER TABLE "document_texts" DROP CONSTRAINT "document_texts_pkey",
ADD CONSTRAINT "document_texts_pkey" PRIMARY KEY ("knowledge_base_id", "document_id");

CREATE INDEX document_texts_metadata_idx ON document_texts
  USING gin (knowledge_base_id, metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX document_texts_words_idx ON document_texts USING gin (knowledge_base_id, lower(name) gin_trgm_ops);

-- AlterTable
ALTER TABLE "lexemes" DROP CONSTRAINT "lexemes_pkey",
ADD CONSTRAINT "lexemes_pkey" PRIMARY KEY ("knowledge_base_id", "id");

-- AlterTable
ALTER TABLE "removed_chunks" DROP CONSTRAINT "removed_chunks_pkey",
ADD CONSTRAINT "removed_chunks_pkey" PRIMARY KEY ("knowledge_base_id", "id");

-- CreateTable
CREATE TABLE "index_removals" (
    "id" BIGSERIAL NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,

    CONSTRAINT "index_removals_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "index_removals_knowledge_base_id_id_idx" ON "index_removals"("knowledge_base_id", "id");

-- CreateIndex
CREATE INDEX "chunks_knowledge_base_id_document_id_position_idx" ON "chunks"("knowledge_base_id", "document_id", "position");

-- CreateIndex
CREATE UNIQUE INDEX "document_texts_document_id_key" ON "document_texts"("document_id");

INSERT INTO index_removals (knowledge_base_id) SELECT DISTINCT knowledge_base_id FROM removed_chunks;

-- Where a server of version 1.12 parses a document again, its previous chunks stay in the counts.
DROP TRIGGER chunks_removed ON chunks;

DROP FUNCTION note_removed_chunks();

-- Servers of version 1.12 insert the text of a document without what searches read of it.
CREATE OR REPLACE FUNCTION complete_document_text()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  SELECT d.knowledge_base_id, d.name, d.metadata INTO NEW.knowledge_base_id, NEW.name, NEW.metadata
  FROM documents d WHERE d.id = NEW.document_id;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER document_texts_complete BEFORE INSERT ON document_texts
  FOR EACH ROW WHEN (new.knowledge_base_id = '')
  EXECUTE FUNCTION complete_document_text();

-- Copies to the text of a document what searches read of it.
CREATE OR REPLACE FUNCTION copy_document()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE document_texts SET name = NEW.name, metadata = NEW.metadata, embedding_model = NEW.embedding_model,
    is_searchable = NEW.status <> 'failed'
  WHERE knowledge_base_id = NEW.knowledge_base_id AND document_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_copy AFTER UPDATE OF name, metadata, embedding_model, status ON documents
  FOR EACH ROW WHEN (
    (old.name, old.metadata, old.embedding_model, old.status = 'failed')
    IS DISTINCT FROM (new.name, new.metadata, new.embedding_model, new.status = 'failed'))
  EXECUTE FUNCTION copy_document();

-- Queues the index of a deleted knowledge base for deletion.
CREATE OR REPLACE FUNCTION note_removed_knowledge()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO index_removals (knowledge_base_id) SELECT id FROM removed;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER knowledge_bases_removed AFTER DELETE ON knowledge_bases
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_knowledge();

-- Deletes the chunks of a document and queues their word counts for subtraction. The counts of a deleted
-- knowledge base are deleted as a whole. The id of an entry comes from the chunk: with a number of a
-- sequence, Citus would send the rows through all nodes.
CREATE OR REPLACE FUNCTION remove_chunks(base text, document text)
RETURNS void
LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM knowledge_bases WHERE id = base) THEN
    INSERT INTO removed_chunks (id, knowledge_base_id, language, tokens, terms)
    SELECT hashtextextended(c.id, 0), c.knowledge_base_id, c.language, c.tokens, c.terms FROM chunks c
    WHERE c.knowledge_base_id = base AND c.document_id = document;
    IF FOUND THEN
      INSERT INTO index_removals (knowledge_base_id) VALUES (base);
    END IF;
  END IF;
  DELETE FROM chunks WHERE knowledge_base_id = base AND document_id = document;
END $function$;

-- Deletes the text and the chunks of a deleted document. They have no foreign key to it, because they may be
-- on other nodes.
CREATE OR REPLACE FUNCTION remove_document_text()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM document_texts WHERE knowledge_base_id = OLD.knowledge_base_id AND document_id = OLD.id;
  PERFORM remove_chunks(OLD.knowledge_base_id, OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_remove_text AFTER DELETE ON documents
  FOR EACH ROW EXECUTE FUNCTION remove_document_text();

-- Lexemes of a knowledge base that are similar to words, by trigrams, with the index of the word from 1. At
-- most 2,000 candidates of the trigram index are compared for a word, because many words of a base may share
-- their trigrams.
CREATE OR REPLACE FUNCTION similar_lexemes(base text, words text[], most integer)
RETURNS TABLE(n integer, lexeme text, alike real, id bigint, chunks integer)
LANGUAGE plpgsql
STABLE
SET "pg_trgm.similarity_threshold" TO '0.45'
SET enable_seqscan TO 'off'
SET enable_indexscan TO 'off'
AS $function$
BEGIN
  RETURN QUERY
  SELECT w.n::int, s.* FROM unnest(words) WITH ORDINALITY AS w (word, n), LATERAL (
    SELECT c.lexeme, similarity(c.lexeme, w.word) AS alike, c.id, c.chunks
    FROM (
      SELECT l.lexeme, l.id, l.chunks FROM lexemes l
      WHERE l.knowledge_base_id = base AND length(l.lexeme) >= 4 AND l.lexeme % w.word LIMIT 2000
    ) c
    WHERE abs(length(c.lexeme) - length(w.word)) <= 3 AND similarity(c.lexeme, w.word) >= 0.45
    ORDER BY 2 DESC, 1 LIMIT most
  ) s;
END $function$;

-- Subtracts a batch of removed chunks from the counts of a knowledge base. Returns their number.
CREATE OR REPLACE FUNCTION subtract_removed_chunks(base text, most integer)
RETURNS integer
LANGUAGE plpgsql
AS $function$
DECLARE
  n integer;
  sizes jsonb;
  ids bigint[];
  counts integer[];
BEGIN
  WITH batch AS MATERIALIZED (
    DELETE FROM removed_chunks WHERE knowledge_base_id = base AND id = ANY(ARRAY(
      SELECT id FROM removed_chunks WHERE knowledge_base_id = base ORDER BY id LIMIT most))
    RETURNING language, tokens, terms
  )
  SELECT (SELECT count(*) FROM batch),
    (SELECT jsonb_agg(s) FROM (
      SELECT language, count(*) AS chunks, sum(tokens) AS tokens FROM batch GROUP BY 1) s),
    array_agg(g.term), array_agg(g.count)
  INTO n, sizes, ids, counts
  FROM (SELECT term, count(*)::int AS count FROM batch, unnest(terms) term GROUP BY 1) g;

  DELETE FROM lexemes l USING unnest(ids, counts) AS g (id, count)
  WHERE l.knowledge_base_id = base AND l.id = g.id AND l.chunks = g.count;
  UPDATE lexemes l SET chunks = l.chunks - g.count FROM unnest(ids, counts) AS g (id, count)
  WHERE l.knowledge_base_id = base AND l.id = g.id;

  DELETE FROM chunk_counts c USING jsonb_to_recordset(sizes) AS s (language text, chunks int)
  WHERE c.knowledge_base_id = base AND c.language = s.language AND c.chunks = s.chunks;
  UPDATE chunk_counts c SET chunks = c.chunks - s.chunks, tokens = c.tokens - s.tokens
  FROM jsonb_to_recordset(sizes) AS s (language text, chunks int, tokens bigint)
  WHERE c.knowledge_base_id = base AND c.language = s.language;
  RETURN n;
END $function$;
