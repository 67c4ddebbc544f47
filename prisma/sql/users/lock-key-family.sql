-- The keys of a family that are not revoked, locked against other writers.
-- @many
SELECT {api-key-columns} FROM api_keys k
WHERE k.id IN ({key-family}) AND k.revoked_at IS NULL
ORDER BY k.id FOR NO KEY UPDATE OF k
