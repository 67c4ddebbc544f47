-- `rank-by-words` in the documents that filters select. Each document is compared with the filters once, not
-- for each of its chunks that has one of the words.
-- @many searches
WITH selected AS MATERIALIZED (
  SELECT t.document_id, t.name FROM document_texts t
  WHERE t.knowledge_base_id = :knowledge_base_id AND {is-selected}
), candidates AS MATERIALIZED (
  SELECT c.place FROM unnest(:probes::text[], :limits::int[]) AS p (terms, most), LATERAL (
    SELECT c.ctid AS place
    FROM chunks c
    WHERE c.knowledge_base_id = :knowledge_base_id AND c.terms @> p.terms::bigint[]
      AND c.document_id IN (SELECT document_id FROM selected) LIMIT p.most) c
  UNION
  SELECT c.place FROM (
    SELECT document_id FROM selected WHERE lower(name) LIKE ANY(:name_patterns) LIMIT 20) t,
    LATERAL (SELECT c.ctid AS place FROM chunks c
      WHERE c.knowledge_base_id = :knowledge_base_id AND c.document_id = t.document_id
      ORDER BY c.position LIMIT 3) c
), {ranked-candidates}
