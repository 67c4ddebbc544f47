-- Deletes a batch of the webhook events that were received more than :days ago.
-- @one
WITH deleted AS (
  DELETE FROM gateway_events WHERE id = ANY(ARRAY(
    SELECT id FROM gateway_events WHERE received_at < now() - make_interval(days => :days) LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
