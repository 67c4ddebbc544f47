-- Deletes a batch of the documents of a knowledge base, but nothing if the batch contains all documents
-- that are left.
-- @one
WITH batch AS MATERIALIZED ({first-documents}), deleted AS (
  DELETE FROM documents WHERE id = ANY(ARRAY(SELECT id FROM batch))
    AND (SELECT sum(count) FROM document_counts WHERE knowledge_base_id = :knowledge_base_id)
      > (SELECT count(*) FROM batch)
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
