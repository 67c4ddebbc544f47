-- Puts deliveries that succeeded or failed back to the start of the retry schedule.
-- @none
UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now()
WHERE id = ANY(:ids) AND status <> 'pending'
