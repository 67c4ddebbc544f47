-- The positions of the words that are stop words of the language with the most of them.
-- @optional
SELECT array_agg(n::int) AS "words!"
FROM unnest(:words::text[]) WITH ORDINALITY AS w (word, n),
  unnest(:languages::text[]) WITH ORDINALITY AS l (language, place)
WHERE to_tsvector(language::regconfig, unaccent(word)) = ''
GROUP BY place ORDER BY count(*) DESC, place LIMIT 1
