-- The knowledge bases with index entries to remove, after the id `after`. Skips from one knowledge base to
-- the next along the index (a loose index scan), regardless of the rows of each.
-- @many
WITH RECURSIVE bases AS (
  (
    SELECT knowledge_base_id AS id FROM index_removals
    WHERE :after?::text IS NULL OR knowledge_base_id > :after ORDER BY 1 LIMIT 1
  )
  UNION ALL
  SELECT (
    SELECT knowledge_base_id FROM index_removals r WHERE r.knowledge_base_id > b.id ORDER BY 1 LIMIT 1
  )
  FROM bases b WHERE b.id IS NOT NULL
)
SELECT id FROM bases WHERE id IS NOT NULL LIMIT :limit
