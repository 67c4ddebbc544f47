-- Deletes a batch of the responses that are too old to be repeated.
-- FOR UPDATE reads the latest version of a row: a request that reuses the key after 24 hours updates it.
-- @one
WITH deleted AS (
  DELETE FROM idempotency_records WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_records WHERE created_at < now() - interval '24 hours'
    LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
