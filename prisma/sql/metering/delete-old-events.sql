-- Deletes a batch of old events. Those of the hour in which the current period of a subscription of their
-- customer began stay: they say what was used in this period.
-- @one
WITH deleted AS (
  DELETE FROM usage_events WHERE ctid = ANY(ARRAY(
    SELECT e.ctid FROM usage_events e
    WHERE e.at < {first-kept-time} AND NOT EXISTS (
      SELECT FROM subscriptions s
      WHERE s.customer_id = e.customer_id AND s.status <> 'canceled'
        AND date_trunc('hour', {payments/began-at}, 'UTC') = date_trunc('hour', e.at, 'UTC'))
    LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
