-- Deletes a batch of the different values of hours that are more than 25 months ago.
-- @one
WITH deleted AS (
  DELETE FROM usage_values WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_values WHERE hour < now() - interval '25 months' LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
