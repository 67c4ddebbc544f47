-- Queues the word counts of deleted chunks for subtraction.
CREATE OR REPLACE FUNCTION note_removed_chunks()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO removed_chunks (knowledge_base_id, language, tokens, terms)
  SELECT r.knowledge_base_id, r.language, r.tokens, r.terms FROM removed r JOIN knowledge_bases k ON k.id =
    r.knowledge_base_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER chunks_removed AFTER DELETE ON chunks
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_chunks();
