-- Inserts a delivery of an event for each endpoint.
-- @none
INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
SELECT d.id, d.endpoint_id, :event_id, :created_at, :created_at
FROM unnest(:ids::text[], :endpoint_ids::text[]) AS d (id, endpoint_id)
