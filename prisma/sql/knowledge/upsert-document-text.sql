-- Stores the parsed text of a document, with what searches read of it.
-- @none
INSERT INTO document_texts (knowledge_base_id, document_id, name, metadata, embedding_model, text, pages)
VALUES (:knowledge_base_id, :document_id, :name, :metadata, :embedding_model?, :text, :pages?)
ON CONFLICT (knowledge_base_id, document_id) DO UPDATE SET name = excluded.name,
  metadata = excluded.metadata, embedding_model = excluded.embedding_model, is_searchable = true,
  text = excluded.text, pages = excluded.pages
