-- The lexemes that each word stands for in the languages, and those of them that a knowledge base contains.
-- The limit is never reached. It keeps the planner, which estimates a thousand rows per word, from scanning
-- all lexemes.
-- @many
SELECT v.n::int AS n, v.language AS "language!", v.lexeme AS "lexeme!", l.id, l.chunks
FROM (
  SELECT DISTINCT n, language,
    unnest(tsvector_to_array(to_tsvector(language::regconfig, unaccent(word)))) AS lexeme
  FROM unnest(:words::text[]) WITH ORDINALITY AS w (word, n), unnest(:languages::text[]) AS language
) v LEFT JOIN LATERAL (
  SELECT * FROM lexemes l
  WHERE l.knowledge_base_id = :knowledge_base_id AND l.lexeme = v.lexeme COLLATE "C" LIMIT 1000000
) l ON true
ORDER BY 1, 2, 3
