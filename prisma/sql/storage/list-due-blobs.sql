-- The keys of blobs that are to be deleted now.
-- @many
SELECT key FROM deleted_blobs WHERE delete_after <= now() ORDER BY delete_after LIMIT :limit
