-- Adds changes to the totals of the numbers of projects. Returns the number of changes.
-- @one
WITH taken AS (
  DELETE FROM project_count_changes
  WHERE id = ANY(ARRAY(SELECT id FROM project_count_changes ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
  RETURNING user_id, status, change
), added AS (
  INSERT INTO project_count_totals AS t (user_id, status, count)
  SELECT user_id, status, sum(change) FROM taken GROUP BY user_id, status ORDER BY user_id, status
  ON CONFLICT (user_id, status) DO UPDATE SET count = t.count + excluded.count
)
SELECT count(*)::int AS n FROM taken
