-- Deletes the parsed text of a document.
-- @none
DELETE FROM document_texts WHERE knowledge_base_id = :knowledge_base_id AND document_id = :document_id
