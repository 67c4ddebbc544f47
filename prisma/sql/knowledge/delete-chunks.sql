-- Deletes the chunks of a document.
-- @none
DELETE FROM chunks WHERE document_id = :document_id
