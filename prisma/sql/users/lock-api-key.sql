-- Locks an API key and returns its digest in hex.
-- @optional
SELECT encode(digest, 'hex') AS digest FROM api_keys WHERE id = :id FOR NO KEY UPDATE
