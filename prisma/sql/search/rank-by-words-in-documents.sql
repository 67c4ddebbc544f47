-- `rank-by-words` in the documents that filters select.
-- @many searches
WITH candidates AS MATERIALIZED (
  SELECT c.place FROM unnest(:probes::text[], :limits::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c JOIN document_texts t ON t.knowledge_base_id = c.knowledge_base_id
      AND t.document_id = c.document_id AND {is-selected}
    WHERE c.knowledge_base_id = :knowledge_base_id AND c.terms @> p.terms::bigint[] LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT t.document_id FROM document_texts t
    WHERE t.knowledge_base_id = :knowledge_base_id AND lower(t.name) LIKE ANY(:name_patterns)
      AND {is-selected} LIMIT 20) t,
    LATERAL (SELECT c.ctid AS place FROM chunks c
      WHERE c.knowledge_base_id = :knowledge_base_id AND c.document_id = t.document_id
      ORDER BY c.position LIMIT 3) c
), {ranked-candidates}
