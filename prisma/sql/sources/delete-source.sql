-- Deletes a source.
-- @none
DELETE FROM knowledge_sources WHERE id = :id
