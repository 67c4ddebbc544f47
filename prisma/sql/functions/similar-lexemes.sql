-- Words of a knowledge base that are similar to a word, by trigrams.
CREATE OR REPLACE FUNCTION similar_lexemes(bases text[], word text, most integer)
RETURNS TABLE(lexeme text, alike real)
LANGUAGE sql
STABLE
SET "pg_trgm.similarity_threshold" TO '0.45'
AS $function$
  SELECT l.lexeme, max(similarity(l.lexeme, word)) AS alike FROM lexemes l
  WHERE l.knowledge_base_id = ANY(bases) AND length(l.lexeme) >= 4 AND l.lexeme % word
    AND abs(length(l.lexeme) - length(word)) <= 3
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT most
$function$;
