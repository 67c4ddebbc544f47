-- Like `read-file`, for a file in the trash.
-- @optional
-- @nullable user_id
SELECT {file-columns}, f.blob_key, u.status AS owner_status, {projects/access row=f role=storage_role}
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = :id AND {is-in-trash}
