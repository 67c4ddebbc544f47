-- Postpones the deletion of blobs.
-- @none
UPDATE deleted_blobs SET delete_after = now() + interval '10 minutes' WHERE key = ANY(:keys)
