-- A share of a folder.
-- @optional
SELECT {share-columns} FROM folder_shares s WHERE s.id = :id AND s.folder_id = :folder_id
