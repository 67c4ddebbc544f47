-- Deletes the chunks of a document.
-- @one
SELECT remove_chunks(:knowledge_base_id, :document_id)
