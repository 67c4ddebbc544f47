-- Merges the changes of the counts into one row for each kind and status, unless there are only a few.
-- Returns the number of merged rows.
-- @one
WITH merged AS (
  DELETE FROM sales_counts
  WHERE (SELECT count(*) FROM sales_counts) > 100
    AND id = ANY(ARRAY(SELECT id FROM sales_counts ORDER BY id LIMIT :limit))
  RETURNING kind, status, count
), inserted AS (
  INSERT INTO sales_counts (kind, status, count)
  SELECT kind, status, sum(count) FROM merged GROUP BY kind, status HAVING sum(count) <> 0
)
SELECT count(*)::int AS n FROM merged
