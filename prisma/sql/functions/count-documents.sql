-- Keeps the number of documents by status.
CREATE OR REPLACE FUNCTION count_documents()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, count(*) FROM added GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE document_counts c SET count = c.count - gone.count
    FROM (SELECT knowledge_base_id, status, count(*) AS count FROM removed GROUP BY 1, 2) gone
    WHERE c.knowledge_base_id = gone.knowledge_base_id AND c.status = gone.status;
  ELSE
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, sum(n) FROM (
      SELECT knowledge_base_id, status, 1 AS n FROM added UNION ALL SELECT knowledge_base_id, status, -1
        FROM removed
    ) moved GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_added AFTER INSERT ON documents
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

CREATE OR REPLACE TRIGGER documents_moved AFTER UPDATE ON documents
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

CREATE OR REPLACE TRIGGER documents_removed AFTER DELETE ON documents
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();
