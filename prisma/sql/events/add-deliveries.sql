-- After `recipients AS (…)`: a delivery of the event for each of them, and its job, as `Queue.add` adds it: a
-- failing endpoint has the first lane of the queue. Returns the ids of the deliveries.
, deliveries AS (
  INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
  SELECT new_id('whd', :created_at), r.id, :id, :created_at, :created_at FROM recipients r
  RETURNING id, endpoint_id
), jobs AS (
  INSERT INTO pgboss.job (name, data, priority, group_id, expire_seconds, deletion_seconds, keep_until,
    retry_limit, retry_delay, retry_backoff, retry_delay_max, policy, dead_letter, heartbeat_seconds)
  SELECT q.name,
    jsonb_strip_nulls(jsonb_build_object('delivery_id', d.id, 'traceparent', :traceparent?::text)),
    CASE WHEN r.failing THEN -1 ELSE 0 END, r.id || CASE WHEN r.failing THEN '/failing' ELSE '' END,
    q.expire_seconds, q.deletion_seconds, now() + q.retention_seconds * interval '1 second', q.retry_limit,
    q.retry_delay, q.retry_backoff, q.retry_delay_max, q.policy, q.dead_letter, q.heartbeat_seconds
  FROM recipients r JOIN deliveries d ON d.endpoint_id = r.id
    JOIN pgboss.queue q ON q.name = 'webhook-deliveries'
)
SELECT id FROM deliveries
