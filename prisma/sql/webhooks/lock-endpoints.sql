-- Locks the endpoints that the next statements change, in one order, so that concurrent workers wait
-- instead of deadlocking.
-- @many
SELECT id FROM webhook_endpoints
WHERE id = ANY(:failing_ids) OR (id = ANY(:succeeding_ids) AND failing_since IS NOT NULL)
ORDER BY id FOR NO KEY UPDATE
