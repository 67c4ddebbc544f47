-- Deletes a batch of the lexemes of a deleted knowledge base.
-- @one
WITH deleted AS (
  DELETE FROM lexemes WHERE knowledge_base_id = :knowledge_base_id AND id = ANY(ARRAY(
    SELECT id FROM lexemes WHERE knowledge_base_id = :knowledge_base_id LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
