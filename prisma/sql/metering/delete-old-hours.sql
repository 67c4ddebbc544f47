-- Deletes a batch of the usage of hours that are more than 25 months ago.
-- @one
WITH deleted AS (
  DELETE FROM usage_hours WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_hours WHERE hour < now() - interval '25 months' LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
