-- The lexemes of chunks, and how often each occurs. Each chunk gets the lexemes of its language and those
-- of `simple`. The count of a lexeme that both produce is the higher one, which is usually the language's,
-- as its lexeme covers more word forms.
-- @many
WITH given AS (
  SELECT n, unaccent(body) AS body, unaccent(heading) AS heading
  FROM unnest(:bodies::text[], :headings::text[]) WITH ORDINALITY AS g (body, heading, n)
),
found AS (
  SELECT n, configuration, lexeme, sum(cardinality(positions) * weight) AS count
  FROM given,
    (SELECT DISTINCT c FROM unnest(ARRAY['simple', :language]) c) AS configurations (configuration),
    LATERAL (
      SELECT lexeme, positions, 1 AS weight FROM unnest(to_tsvector(configuration::regconfig, body))
      UNION ALL
      SELECT lexeme, positions, :heading_weight::int FROM unnest(to_tsvector(configuration::regconfig,
        heading))
    ) v
  GROUP BY 1, 2, 3
)
SELECT n::int AS n, array_agg(lexeme) AS "lexemes!", array_agg(least(count, :max_count)::int) AS "counts!"
FROM (SELECT n, lexeme, max(count) AS count FROM found GROUP BY 1, 2) f GROUP BY 1
