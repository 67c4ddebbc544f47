-- Forgets blobs that were removed from the store.
-- @none
DELETE FROM quarantined_blobs WHERE key = ANY(:keys)
