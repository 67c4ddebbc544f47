-- Chunks of a knowledge base.
-- @many
SELECT id, document_id, heading, page, start_index, end_index, text
FROM chunks WHERE knowledge_base_id = :knowledge_base_id AND id = ANY(:ids)
