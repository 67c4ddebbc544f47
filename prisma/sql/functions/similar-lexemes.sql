-- Lexemes of a knowledge base that are similar to words, by trigrams, with the index of the word from 1. At
-- most 2,000 candidates of the trigram index are compared for a word, because many words of a base may share
-- their trigrams.
CREATE OR REPLACE FUNCTION similar_lexemes(base text, words text[], most integer)
RETURNS TABLE(n integer, lexeme text, alike real, id bigint, chunks integer)
LANGUAGE plpgsql
STABLE
SET "pg_trgm.similarity_threshold" TO '0.45'
SET enable_seqscan TO 'off'
SET enable_indexscan TO 'off'
AS $function$
BEGIN
  RETURN QUERY
  SELECT w.n::int, s.* FROM unnest(words) WITH ORDINALITY AS w (word, n), LATERAL (
    SELECT c.lexeme, similarity(c.lexeme, w.word) AS alike, c.id, c.chunks
    FROM (
      SELECT l.lexeme, l.id, l.chunks FROM lexemes l
      WHERE l.knowledge_base_id = base AND length(l.lexeme) >= 4 AND l.lexeme % w.word LIMIT 2000
    ) c
    WHERE abs(length(c.lexeme) - length(w.word)) <= 3 AND similarity(c.lexeme, w.word) >= 0.45
    ORDER BY 2 DESC, 1 LIMIT most
  ) s;
END $function$;
