-- Removes deleted blobs from the queue of blobs to delete.
-- @none
DELETE FROM deleted_blobs WHERE key = ANY(:keys)
