-- Finds candidate chunks of a knowledge base for words and ranks them by BM25; returns the best with the
-- names of their documents.
-- @many
WITH candidates AS MATERIALIZED (
  SELECT c.place FROM unnest(:probes::text[], :limits::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c
    WHERE c.knowledge_base_id = :knowledge_base_id AND c.terms @> p.terms::bigint[] LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT t.document_id FROM document_texts t
    WHERE t.knowledge_base_id = :knowledge_base_id AND lower(t.name) LIKE ANY(:name_patterns)
      LIMIT 20) t,
    LATERAL (SELECT c.ctid AS place FROM chunks c
      WHERE c.knowledge_base_id = :knowledge_base_id AND c.document_id = t.document_id
      ORDER BY c.position LIMIT 3) c
), {ranked-candidates}
