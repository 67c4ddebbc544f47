-- Fetches due jobs of a lane, those that are due for longest, from all groups but some. A job that is not
-- completed before its time-out is due again. Only `group_limit` jobs of a group run at once: a fetched job
-- runs until its time-out. Jobs that another process is fetching at the moment are skipped.
-- `= ANY(ARRAY(…))` makes PostgreSQL find the rows by index: its statistics of a table that fills and empties
-- are often old, and it would read the whole table.
-- @many
WITH running AS MATERIALIZED (
  SELECT group_id, count(*) AS n FROM jobs
  WHERE queue = :queue AND lane = :lane AND fetches > 0
    AND due_at > now() AND due_at <= now() + make_interval(secs => :seconds)
  GROUP BY group_id
), due AS MATERIALIZED (
  SELECT id, group_id, due_at FROM jobs
  WHERE queue = :queue AND lane = :lane AND due_at <= now() AND group_id <> ALL (:except)
    AND group_id NOT IN (SELECT group_id FROM running WHERE n >= :group_limit)
  ORDER BY due_at LIMIT :count FOR UPDATE SKIP LOCKED
), picked AS (
  SELECT d.id
  FROM (SELECT id, group_id, row_number() OVER (PARTITION BY group_id ORDER BY due_at) AS place FROM due) d
    LEFT JOIN running r ON r.group_id = d.group_id
  WHERE d.place + coalesce(r.n, 0) <= :group_limit
)
UPDATE jobs SET
  fetches = fetches + 1, fetched_at = now(), due_at = now() + make_interval(secs => :seconds)
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING id, data, fetches
