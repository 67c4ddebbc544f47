-- Like `read-file`, but locks the file against other writers, and its project.
-- @optional
-- @nullable user_id
SELECT {file-columns}, f.blob_key, u.status AS owner_status, {projects/locked-access row=f role=storage_role}
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = :id AND {is-visible}
FOR NO KEY UPDATE OF f
