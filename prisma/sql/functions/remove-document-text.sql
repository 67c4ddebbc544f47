-- Deletes the text and the chunks of a deleted document. They have no foreign key to it, because they may be
-- on other nodes.
CREATE OR REPLACE FUNCTION remove_document_text()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM document_texts WHERE knowledge_base_id = OLD.knowledge_base_id AND document_id = OLD.id;
  PERFORM remove_chunks(OLD.knowledge_base_id, OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_remove_text AFTER DELETE ON documents
  FOR EACH ROW EXECUTE FUNCTION remove_document_text();
