-- Adds a delivery of an event to one endpoint, and its job. Returns the id of the delivery.
-- @one
WITH recipients AS (
  SELECT :event_id::text AS event_id, :created_at::timestamptz AS created_at,
    :traceparent?::text AS traceparent, :endpoint_id::text AS id, false AS failing
)
{add-deliveries}
SELECT id FROM deliveries
