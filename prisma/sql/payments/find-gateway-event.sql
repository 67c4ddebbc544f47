-- A webhook event, if it was processed.
-- @optional
SELECT id FROM gateway_events WHERE id = :id
