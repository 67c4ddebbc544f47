-- Whether the text differs from the stored text of the document.
-- @one
SELECT NOT EXISTS (SELECT FROM document_texts WHERE document_id = :document_id AND text = :text) AS is_new
