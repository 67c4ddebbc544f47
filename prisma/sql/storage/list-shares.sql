-- The shares of a folder, or those that a user created.
-- @page
SELECT {share-columns}
FROM folder_shares s
WHERE true
-- @common s.id=shr
-- @filter folder_id searches
s.folder_id = :folder_id
-- @filter created_by searches
s.owner_id = :created_by
-- @sort created_at
s.id
-- @id
s.id
