-- Adds changes to the totals of the quotas. Returns the number of changes.
-- @one
WITH taken AS (
  DELETE FROM quota_changes
  WHERE id = ANY(ARRAY(SELECT id FROM quota_changes ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
  RETURNING user_id, quota, change
), added AS (
  INSERT INTO quota_totals AS t (user_id, quota, used)
  SELECT user_id, quota, sum(change) FROM taken GROUP BY user_id, quota ORDER BY user_id, quota
  ON CONFLICT (user_id, quota) DO UPDATE SET used = t.used + excluded.used
)
SELECT count(*)::int AS n FROM taken
