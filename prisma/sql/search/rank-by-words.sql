-- Finds candidate chunks for words and ranks them by BM25; returns the best with the names of their
-- documents.
-- @many
WITH candidates AS MATERIALIZED (
  SELECT c.place FROM unnest(:probes::text[], :limits::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c
    WHERE c.terms @> p.terms::bigint[] LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT d.id FROM documents d
    WHERE d.knowledge_base_id = ANY(:knowledge_base_ids) AND lower(d.name) LIKE ANY(:name_patterns)
      LIMIT 20) d,
    LATERAL (SELECT c.ctid AS place FROM chunks c WHERE c.document_id = d.id ORDER BY c.position LIMIT 3) c
), {ranked-candidates}
