-- Deletes the entries of a knowledge base whose index entries are removed, up to the id `:last`.
-- @none
DELETE FROM index_removals WHERE knowledge_base_id = :knowledge_base_id AND id <= :last?::bigint
