-- The lexemes of a knowledge base that are similar to words.
-- @many
SELECT n AS "n!", lexeme AS "lexeme!", alike AS "alike!", id AS "id!", chunks AS "chunks!"
FROM similar_lexemes(:knowledge_base_id, ARRAY(
  SELECT unaccent(word) FROM unnest(:words::text[]) WITH ORDINALITY AS w (word, n) ORDER BY n), :most)
