-- The due jobs of each queue that no worker has fetched, counted to `most`.
-- @many
SELECT q.queue AS "queue!", least(sum(due.n), :most)::int AS "waiting!",
  coalesce(extract(epoch FROM now() - min(due.oldest)), 0)::float8 AS "oldestSeconds!"
FROM unnest(:queues::text[], :lanes::text[]) AS q (queue, lane)
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(due_at) AS oldest
  FROM (
    SELECT due_at FROM jobs WHERE queue = q.queue AND lane = q.lane AND due_at <= now()
    ORDER BY due_at LIMIT :most
  ) j
) due
GROUP BY q.queue
