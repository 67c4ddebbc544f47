-- Subtracts a batch of removed chunks from the counts of a knowledge base.
-- @one
WITH batch AS MATERIALIZED (
  DELETE FROM removed_chunks
  WHERE id = ANY(ARRAY(
    SELECT id FROM removed_chunks WHERE knowledge_base_id = :knowledge_base_id ORDER BY id LIMIT :limit))
  RETURNING language, tokens, terms
), removed_terms AS MATERIALIZED (
  SELECT term, count(*)::int AS chunks FROM batch, unnest(terms) term GROUP BY 1
),
unused AS (DELETE FROM lexemes l USING removed_terms g WHERE l.id = g.term AND l.chunks = g.chunks),
fewer AS (
  UPDATE lexemes l SET chunks = l.chunks - g.chunks FROM removed_terms g
  WHERE l.id = g.term AND l.chunks <> g.chunks
),
sizes AS MATERIALIZED (
  SELECT language, count(*)::int AS chunks, sum(tokens) AS tokens FROM batch GROUP BY 1
),
emptied AS (
  DELETE FROM chunk_counts c USING sizes s
  WHERE c.knowledge_base_id = :knowledge_base_id AND c.language = s.language AND c.chunks = s.chunks
),
smaller AS (
  UPDATE chunk_counts c SET chunks = c.chunks - s.chunks, tokens = c.tokens - s.tokens FROM sizes s
  WHERE c.knowledge_base_id = :knowledge_base_id AND c.language = s.language AND c.chunks <> s.chunks
)
SELECT count(*)::int AS n FROM batch
