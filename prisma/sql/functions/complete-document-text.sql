-- Servers of version 1.12 insert the text of a document without what searches read of it.
CREATE OR REPLACE FUNCTION complete_document_text()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  SELECT d.knowledge_base_id, d.name, d.metadata INTO NEW.knowledge_base_id, NEW.name, NEW.metadata
  FROM documents d WHERE d.id = NEW.document_id;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER document_texts_complete BEFORE INSERT ON document_texts
  FOR EACH ROW WHEN (new.knowledge_base_id = '')
  EXECUTE FUNCTION complete_document_text();
