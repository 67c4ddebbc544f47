-- Deletes deliveries of deleted endpoints.
-- @one
WITH deleted AS (
  DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
    SELECT d.id FROM webhook_endpoints w
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE endpoint_id = w.id LIMIT :limit) d
    WHERE w.deleted_at IS NOT NULL LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
