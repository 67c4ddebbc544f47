-- Deletes a batch of the usage by credential, project and model that is older than 400 days.
-- @one
WITH deleted AS (
  DELETE FROM usage_counts WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_counts WHERE day < now() - interval '400 days' LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
