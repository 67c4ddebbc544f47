-- `similar_lexemes` in several knowledge bases, for servers of version 1.12.
CREATE OR REPLACE FUNCTION similar_lexemes(bases text[], word text, most integer)
RETURNS TABLE(lexeme text, alike real)
LANGUAGE sql
STABLE
SET "pg_trgm.similarity_threshold" TO '0.45'
SET enable_seqscan TO 'off'
SET enable_indexscan TO 'off'
AS $function$
  SELECT c.lexeme, max(similarity(c.lexeme, word)) AS alike
  FROM (
    SELECT l.lexeme FROM lexemes l
    WHERE l.knowledge_base_id = ANY(bases) AND length(l.lexeme) >= 4 AND l.lexeme % word LIMIT 2000
  ) c
  WHERE abs(length(c.lexeme) - length(word)) <= 3
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT most
$function$;
