-- Deletes a knowledge base and its remaining documents.
-- @none
DELETE FROM knowledge_bases WHERE id = :id
