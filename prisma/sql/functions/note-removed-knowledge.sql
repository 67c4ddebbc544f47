-- Queues the index of a deleted knowledge base for deletion.
CREATE OR REPLACE FUNCTION note_removed_knowledge()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO index_removals (knowledge_base_id) SELECT id FROM removed;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER knowledge_bases_removed AFTER DELETE ON knowledge_bases
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_knowledge();
