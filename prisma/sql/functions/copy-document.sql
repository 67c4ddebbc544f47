-- Copies to the text of a document what searches read of it.
CREATE OR REPLACE FUNCTION copy_document()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE document_texts SET name = NEW.name, metadata = NEW.metadata, embedding_model = NEW.embedding_model,
    is_searchable = NEW.status <> 'failed'
  WHERE knowledge_base_id = NEW.knowledge_base_id AND document_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_copy AFTER UPDATE OF name, metadata, embedding_model, status ON documents
  FOR EACH ROW WHEN (
    (old.name, old.metadata, old.embedding_model, old.status = 'failed')
    IS DISTINCT FROM (new.name, new.metadata, new.embedding_model, new.status = 'failed'))
  EXECUTE FUNCTION copy_document();
