-- Adds what changed files change to the storage usage: their number, bytes, and what is in the trash.
CREATE OR REPLACE FUNCTION count_changed_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  c record;
BEGIN
  FOR c IN
    SELECT workspace_id, sum(n) AS files, sum(n * bytes) AS bytes, sum(n * trashed) AS trashed_files,
      sum(n * trashed * bytes) AS trashed_bytes
    FROM (
      SELECT workspace_id, 1 AS n, bytes, (trashed_at IS NOT NULL)::int AS trashed FROM added
      UNION ALL
      SELECT workspace_id, -1, bytes, (trashed_at IS NOT NULL)::int FROM removed
    ) changes
    GROUP BY workspace_id
    HAVING sum(n) <> 0 OR sum(n * bytes) <> 0 OR sum(n * trashed) <> 0 OR sum(n * trashed * bytes) <> 0
    ORDER BY workspace_id
  LOOP
    INSERT INTO storage_usage (workspace_id) VALUES (c.workspace_id) ON CONFLICT DO NOTHING;
    UPDATE storage_usage u SET files = u.files + c.files, bytes = u.bytes + c.bytes,
      trashed_files = u.trashed_files + c.trashed_files, trashed_bytes = u.trashed_bytes + c.trashed_bytes
    WHERE u.workspace_id = c.workspace_id;
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_changed AFTER UPDATE ON files
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_files();
