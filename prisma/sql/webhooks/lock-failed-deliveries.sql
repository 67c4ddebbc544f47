-- The failed deliveries of an endpoint that were created at or after :since, oldest first. Locks them.
-- @many
SELECT d.id FROM webhook_deliveries d
WHERE d.endpoint_id = :endpoint_id AND d.status = 'failed' AND d.created_at >= :since
ORDER BY d.created_at, d.id LIMIT :limit FOR NO KEY UPDATE
