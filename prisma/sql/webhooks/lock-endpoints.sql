-- Locks the endpoints that the next statements change, in one order, so that concurrent workers wait
-- instead of deadlocking, and returns their present URLs.
-- @many
SELECT id, url FROM webhook_endpoints WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE
