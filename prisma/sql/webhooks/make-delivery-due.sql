-- Makes a pending delivery due now, at the start of the retry schedule, with its job in the queue. `moved`:
-- it waited for a later time. `running`: an attempt is in flight. If neither is true, it is due already. Only
-- the job of a retry has the same time as its delivery.
-- @one
WITH job AS (
  UPDATE pgboss.job SET start_after = now()
  WHERE name = 'webhook-deliveries' AND state < 'active' AND NOT blocked
    AND start_after = :next_attempt_at AND start_after > clock_timestamp()
    AND data ->> 'delivery_id' = :id
  RETURNING id
), delivery AS (
  UPDATE webhook_deliveries SET tries = 0, next_attempt_at = now()
  WHERE id = :id AND EXISTS (SELECT FROM job)
)
SELECT EXISTS (SELECT FROM job) AS "moved!", EXISTS (
  SELECT FROM pgboss.job
  WHERE name = 'webhook-deliveries' AND state = 'active' AND group_id IS NOT NULL
    AND data ->> 'delivery_id' = :id
) AS "running!"
