-- Deletes a share.
-- @none
DELETE FROM folder_shares WHERE id = :id
