-- The ids of lexemes become 64-bit numbers: an id is never used again, so 32 bits would run out. This
-- rewrites "chunks" and rebuilds its index.
ALTER SEQUENCE "lexemes_id_seq" AS BIGINT;
ALTER TABLE "lexemes" ALTER COLUMN "id" TYPE BIGINT;
DROP INDEX "chunks_terms_idx";
ALTER TABLE "chunks"
  ALTER COLUMN "terms" TYPE BIGINT[],
  ALTER COLUMN "terms" SET STORAGE MAIN;
CREATE INDEX "chunks_terms_idx" ON "chunks" USING gin ("terms") WITH (gin_pending_list_limit = 1024);
ALTER TABLE "removed_chunks" ALTER COLUMN "terms" TYPE BIGINT[];
