-- Pending deliveries with everything that is needed to send them. `secrets`: the endpoint's current secret,
-- then the previous secret while it is still valid. `allowed`: whether the endpoint's owner may still read
-- the event.
-- @many
SELECT d.id AS delivery_id, d.tries, d.endpoint_id, w.user_id AS owner, w.url,
  w.enabled AND w.deleted_at IS NULL AS enabled,
  {events/is-failing} AS failing,
  CASE WHEN w.previous_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END
    AS secrets,
  {events/may-receive} AS "allowed!",
  {events/event-columns}
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id {endpoint-and-member}
WHERE d.id = ANY(ARRAY(SELECT unnest(:ids::text[]))) AND d.status = 'pending'
