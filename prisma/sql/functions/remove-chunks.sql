-- Deletes the chunks of a document and queues their word counts for subtraction. The counts of a deleted
-- knowledge base are deleted as a whole. The id of an entry comes from the chunk: with a number of a
-- sequence, Citus would send the rows through all nodes.
CREATE OR REPLACE FUNCTION remove_chunks(base text, document text)
RETURNS void
LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT FROM knowledge_bases WHERE id = base) THEN
    INSERT INTO removed_chunks (id, knowledge_base_id, language, tokens, terms)
    SELECT hashtextextended(c.id, 0), c.knowledge_base_id, c.language, c.tokens, c.terms FROM chunks c
    WHERE c.knowledge_base_id = base AND c.document_id = document;
    IF FOUND THEN
      INSERT INTO index_removals (knowledge_base_id) VALUES (base);
    END IF;
  END IF;
  DELETE FROM chunks WHERE knowledge_base_id = base AND document_id = document;
END $function$;
