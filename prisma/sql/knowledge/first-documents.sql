-- The ids of the first documents of a knowledge base, limited by their total number of chunks; at least
-- one, so that no statement that deletes them runs long.
SELECT id FROM (
  SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
  FROM (
    SELECT d.id, d.chunk_count FROM documents d WHERE d.knowledge_base_id = :knowledge_base_id
      ORDER BY d.id LIMIT 100
  ) d
) s WHERE before < :max_chunks
