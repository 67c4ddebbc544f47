-- Deletes the parsed text of a document.
-- @none
DELETE FROM document_texts WHERE document_id = :document_id
