-- Adds chunks to the counts of a knowledge base.
-- @none
INSERT INTO chunk_counts AS c (knowledge_base_id, language, chunks, tokens)
VALUES (:knowledge_base_id, :language, :chunks, :tokens)
ON CONFLICT (knowledge_base_id, language)
DO UPDATE SET chunks = c.chunks + excluded.chunks, tokens = c.tokens + excluded.tokens
