-- `rank-by-vector` with pgvector, an extension that the database may have.
-- @many searches
SELECT c.id, c.document_id, 1 - (c.embedding::vector <=> :embedding::real[]::vector) AS "score!"
{compared-chunks}
ORDER BY score DESC, c.id LIMIT 200
