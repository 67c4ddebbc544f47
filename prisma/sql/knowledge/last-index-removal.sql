-- The newest entry that asks for the index entries of a knowledge base to be removed.
-- @one
SELECT max(id) AS id FROM index_removals WHERE knowledge_base_id = :knowledge_base_id
