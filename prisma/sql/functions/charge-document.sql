-- Charges the bytes of a document's source to the owner of its knowledge base.
CREATE OR REPLACE FUNCTION charge_document()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.owner_id := (SELECT owner_id FROM knowledge_bases WHERE id = NEW.knowledge_base_id);
  NEW.bytes := coalesce(octet_length(NEW.source), (SELECT bytes FROM files WHERE id = NEW.file_id), 0);
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER documents_charge BEFORE INSERT ON documents
  FOR EACH ROW EXECUTE FUNCTION charge_document();
