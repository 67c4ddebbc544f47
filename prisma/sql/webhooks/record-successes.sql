-- Records successful attempts of deliveries, whose jobs leave the queue. A job that expired during the
-- attempt belongs to another worker, which records its own outcome. Of the attempts, the last 20 are kept.
-- The endpoints are locked in one order, so that concurrent workers wait instead of deadlocking.
-- `= ANY(ARRAY(…))` makes PostgreSQL find the rows by index: its statistics of a table that fills and empties
-- are often old, and it would read the whole table.
-- @none
WITH own AS (
  DELETE FROM jobs j USING unnest(:job_ids::uuid[], :fetches::int[], :ids::text[],
    :endpoint_ids::text[], :attempts::jsonb[], :requests::jsonb[])
    AS o (job_id, fetches, id, endpoint_id, attempt, request)
  WHERE j.id = ANY(ARRAY(SELECT unnest(:job_ids::uuid[]))) AND j.id = o.job_id AND j.fetches = o.fetches
  RETURNING o.id, o.endpoint_id, o.attempt, o.request
), recovered AS (
  SELECT w.id FROM webhook_endpoints w
  WHERE w.id IN (SELECT endpoint_id FROM own) AND w.failing_since IS NOT NULL
  ORDER BY w.id FOR NO KEY UPDATE
), cleared AS (
  UPDATE webhook_endpoints SET failing_since = NULL WHERE id IN (SELECT id FROM recovered)
)
UPDATE webhook_deliveries d SET
  status = 'succeeded',
  tries = d.tries + 1,
  attempts = CASE WHEN jsonb_array_length(d.attempts) >= 20 THEN d.attempts - 0 ELSE d.attempts END
    || own.attempt,
  request = own.request,
  next_attempt_at = NULL
FROM own WHERE d.id = ANY(ARRAY(SELECT id FROM own)) AND d.id = own.id
