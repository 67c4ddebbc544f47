-- After `recipients AS (…)`: a delivery for each of them, and its job, as `Queue.add` adds it: a failing
-- endpoint has a lane of the queue.
, deliveries AS (
  INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
  SELECT new_id('whd', r.created_at), r.id, r.event_id, r.created_at, r.created_at FROM recipients r
  RETURNING id, endpoint_id, event_id
), added_jobs AS (
  INSERT INTO jobs (queue, lane, group_id, data)
  SELECT 'webhook-deliveries', CASE WHEN r.failing THEN 'failing' ELSE 'main' END, r.id,
    jsonb_strip_nulls(jsonb_build_object('delivery_id', d.id, 'traceparent', r.traceparent))
  FROM recipients r JOIN deliveries d ON d.endpoint_id = r.id AND d.event_id = r.event_id
)
