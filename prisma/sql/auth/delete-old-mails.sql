-- Deletes a batch of e-mails of more than seven days ago.
-- @one
WITH deleted AS (
  DELETE FROM mails WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM mails WHERE created_at < now() - interval '7 days' LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
