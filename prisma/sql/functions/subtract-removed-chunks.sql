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
