-- Makes the transactions that take storage in a workspace wait for each other, and reads what is taken: see
-- `storage_use`.
CREATE OR REPLACE FUNCTION lock_storage(workspace text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads ' || workspace, 0));
  SELECT u.taken, u.used INTO taken, used FROM storage_use(workspace, besides) u;
END $function$;
