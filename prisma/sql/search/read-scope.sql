-- The knowledge bases that the caller may read and that have chunks, with their counts by language, and
-- whether the database has the extension pgvector.
-- @many
SELECT k.id, c.language, c.chunks, c.tokens,
  EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS pgvector
FROM knowledge_bases k JOIN chunk_counts c ON c.knowledge_base_id = k.id
WHERE k.id = ANY(:knowledge_base_ids) AND {readable row=k} ORDER BY c.chunks DESC
