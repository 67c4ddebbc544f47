-- Deletes a batch of the usage that is older than 400 days.
-- @one
WITH deleted AS (
  DELETE FROM usage_days WHERE (user_id, day) IN (
    SELECT user_id, day FROM usage_days WHERE day < now() - interval '400 days' LIMIT :limit)
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
