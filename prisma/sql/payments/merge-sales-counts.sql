-- Merges changes of the counts, unless there are only a few, into one row for each kind, seller and status.
-- Returns the number of merged changes.
-- @one
WITH changes AS (
  DELETE FROM sales_counts
  WHERE (SELECT count(*) FROM (SELECT FROM sales_counts WHERE NOT merged LIMIT 101) few) > 100
    AND id = ANY(ARRAY(SELECT id FROM sales_counts WHERE NOT merged ORDER BY id LIMIT :limit
      FOR UPDATE SKIP LOCKED))
  RETURNING kind, seller, status, count
), sums AS (
  DELETE FROM sales_counts s
  USING (SELECT DISTINCT kind, seller, status FROM changes) c
  WHERE s.merged AND (s.kind, s.status) = (c.kind, c.status) AND s.seller IS NOT DISTINCT FROM c.seller
  RETURNING s.kind, s.seller, s.status, s.count
), inserted AS (
  INSERT INTO sales_counts (kind, seller, status, count, merged)
  SELECT kind, seller, status, sum(count), true
  FROM (SELECT * FROM changes UNION ALL SELECT * FROM sums) r
  GROUP BY kind, seller, status HAVING sum(count) <> 0
)
SELECT count(*)::int AS n FROM changes
