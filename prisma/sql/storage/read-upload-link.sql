-- An upload link and the caller's access to it.
-- @optional
SELECT {upload-link-columns}, {projects/access row=l role=storage_role}
FROM upload_links l
WHERE l.id = :id
