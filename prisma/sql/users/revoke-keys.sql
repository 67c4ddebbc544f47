-- Revokes keys and returns them.
-- @many
UPDATE api_keys k SET revoked_at = now() WHERE k.id = ANY(:ids) AND k.revoked_at IS NULL
RETURNING {api-key-columns}
