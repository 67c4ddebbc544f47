-- Deletes a batch of the documents of a project, limited like `first-documents`.
-- @one
WITH deleted AS (
  DELETE FROM documents WHERE id = ANY(ARRAY(
    SELECT id FROM (
      SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
      FROM (
        SELECT d.id, d.chunk_count FROM knowledge_bases k JOIN documents d ON d.knowledge_base_id = k.id
        WHERE k.project_id = :project_id ORDER BY d.id LIMIT 100
      ) d
    ) s WHERE before < :max_chunks))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
