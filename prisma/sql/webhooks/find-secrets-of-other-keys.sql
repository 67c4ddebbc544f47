-- Endpoints after `after` with a secret that was not encrypted with the current key. `pattern` fits the
-- secrets that were.
-- @many
SELECT id, secret, previous_secret FROM webhook_endpoints
WHERE id > :after AND secret <> '' AND (secret NOT LIKE :pattern OR previous_secret NOT LIKE :pattern)
ORDER BY id LIMIT :count
