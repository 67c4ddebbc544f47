-- The best of the chunks in `candidates`, by BM25 with the constants :k1 and :b. width_bucket finds the
-- index of an id in the ascending array `terms` by binary search. Rows are identified by their ctid, the
-- fastest way back to a row, which is stable within the statement.
matches AS (
  SELECT place, word, max(
    weight * count * (:k1::float8 + 1)
      / (count + :k1 * (1 - :b::float8) + :k1 * :b * tokens / :average_tokens::float8)
  ) AS weight
  FROM (
    SELECT c.ctid AS place, q.word, q.weight,
      c.term_counts[width_bucket(q.id, c.terms)]::float8 AS count, c.tokens::float8 AS tokens
    FROM candidates f
      JOIN chunks c ON c.ctid = f.place AND c.knowledge_base_id = :knowledge_base_id
      JOIN unnest(:term_ids::bigint[], :term_words::int[], :term_weights::float8[]) AS q (id, word, weight)
        ON c.terms[width_bucket(q.id, c.terms)] = q.id
    OFFSET 0
  ) s GROUP BY 1, 2
), ranked AS (
  SELECT f.place, coalesce(sum(s.weight), 0) AS score
  FROM candidates f LEFT JOIN matches s ON s.place = f.place
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200
)
SELECT c.id, c.document_id, r.score, unaccent(t.name) AS "name!"
FROM ranked r JOIN chunks c ON c.ctid = r.place AND c.knowledge_base_id = :knowledge_base_id
JOIN document_texts t ON t.knowledge_base_id = :knowledge_base_id AND t.document_id = c.document_id
  AND {is-searchable}
