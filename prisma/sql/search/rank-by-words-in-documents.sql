-- `rank-by-words` in the documents that filters select.
-- @many searches
WITH candidates AS MATERIALIZED (
  SELECT c.place FROM unnest(:probes::text[], :limits::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c JOIN documents d ON d.id = c.document_id AND {is-selected}
    WHERE c.terms @> p.terms::bigint[] LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT d.id FROM documents d
    WHERE d.knowledge_base_id = ANY(:knowledge_base_ids) AND lower(d.name) LIKE ANY(:name_patterns)
      AND {is-selected} LIMIT 20) d,
    LATERAL (SELECT c.ctid AS place FROM chunks c WHERE c.document_id = d.id ORDER BY c.position LIMIT 3) c
), {ranked-candidates}
