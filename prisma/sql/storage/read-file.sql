-- A file, the key of its blob, the state of its owner and the caller's access to it.
-- @optional
-- @nullable user_id
SELECT {file-columns}, f.blob_key, u.status AS owner_status, {projects/access row=f role=storage_role}
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = :id AND {is-visible}
