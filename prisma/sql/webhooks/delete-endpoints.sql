-- Deletes the rows of deleted endpoints without deliveries.
-- @none
DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)
