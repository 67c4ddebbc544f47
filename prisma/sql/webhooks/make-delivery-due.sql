-- Makes a pending delivery due now, at the start of the retry schedule, with its job in the queue. `moved`:
-- it waited for a later time. `running`: an attempt is in flight; its time-out ends within a minute. If
-- neither is true, it is due already. Only the job of a retry has the same time as its delivery.
-- @one
WITH job AS (
  UPDATE jobs SET due_at = now()
  WHERE queue = 'webhook-deliveries' AND fetches = 0
    AND due_at = :next_attempt_at AND due_at > clock_timestamp() AND data ->> 'delivery_id' = :id
  RETURNING id
), delivery AS (
  UPDATE webhook_deliveries SET tries = 0, next_attempt_at = now()
  WHERE id = :id AND EXISTS (SELECT FROM job)
)
SELECT EXISTS (SELECT FROM job) AS "moved!", EXISTS (
  SELECT FROM jobs
  WHERE queue = 'webhook-deliveries' AND fetches > 0
    AND due_at > now() AND due_at < now() + interval '1 minute' AND data ->> 'delivery_id' = :id
) AS "running!"
