-- Deletes the shares of a folder that have ended or expired.
-- @none
DELETE FROM folder_shares s WHERE s.folder_id = :folder_id AND {share-status} <> 'active'
