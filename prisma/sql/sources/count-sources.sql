-- The number of sources of a knowledge base.
-- @one
SELECT count(*)::int AS n FROM knowledge_sources WHERE knowledge_base_id = :knowledge_base_id
