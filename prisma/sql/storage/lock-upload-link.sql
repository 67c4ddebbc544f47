-- Like `read-upload-link`, but locks the link against other writers, and its project.
-- @optional
SELECT {upload-link-columns}, {projects/locked-access row=l role=storage_role}
FROM upload_links l
WHERE l.id = :id
FOR NO KEY UPDATE OF l
