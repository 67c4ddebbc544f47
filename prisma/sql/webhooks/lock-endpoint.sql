-- Locks an endpoint against other writers until the transaction ends.
-- @optional
SELECT id FROM webhook_endpoints WHERE id = :id AND deleted_at IS NULL FOR NO KEY UPDATE
