-- The lexemes of the knowledge bases that are similar to words. The limit is that of `find-lexemes`.
-- @many
SELECT w.n::int AS n, s.lexeme AS "lexeme!", s.alike AS "alike!", l.knowledge_base_id AS base, l.id, l.chunks
FROM unnest(:words::text[]) WITH ORDINALITY AS w (word, n),
  similar_lexemes(:knowledge_base_ids, unaccent(w.word), :most) s
  CROSS JOIN LATERAL (
    SELECT * FROM lexemes l
    WHERE l.knowledge_base_id = ANY(:knowledge_base_ids) AND l.lexeme = s.lexeme COLLATE "C" LIMIT 1000000
  ) l
ORDER BY 1, 3 DESC, 2, 4
