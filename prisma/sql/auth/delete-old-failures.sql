-- Deletes a batch of wrong passwords of more than a day ago.
-- @one
WITH deleted AS (
  DELETE FROM sign_in_failures WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM sign_in_failures WHERE failed_at < now() - interval '1 day'
    LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
