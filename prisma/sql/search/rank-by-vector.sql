-- The chunks of a knowledge base whose vectors are the most similar to :embedding, which has the length 1
-- like theirs.
-- @many searches
SELECT c.id, c.document_id,
  (SELECT sum(x * y) FROM unnest(c.embedding, :embedding::real[]) AS u (x, y)) AS "score!"
{compared-chunks}
ORDER BY score DESC, c.id LIMIT 200
