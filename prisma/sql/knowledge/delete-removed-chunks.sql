-- Deletes a batch of the removed chunks of a deleted knowledge base.
-- @one
WITH deleted AS (
  DELETE FROM removed_chunks WHERE knowledge_base_id = :knowledge_base_id AND id = ANY(ARRAY(
    SELECT id FROM removed_chunks WHERE knowledge_base_id = :knowledge_base_id LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
