-- Stores the parsed text of a document.
-- @none
INSERT INTO document_texts (document_id, text, pages) VALUES (:document_id, :text, :pages?)
ON CONFLICT (document_id) DO UPDATE SET text = :text, pages = :pages
