-- Whether the text differs from the stored text of the document.
-- @one
SELECT count(*) = 0 AS is_new FROM document_texts
WHERE knowledge_base_id = :knowledge_base_id AND document_id = :document_id AND text = :text
