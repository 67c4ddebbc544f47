-- A file that is copied, with the key of its blob. Its lock keeps the row, and so the blob, until the
-- transaction ends.
-- @optional
SELECT {file-columns}, f.project_id, f.owner_id, f.blob_key
FROM files f
WHERE f.id = :id AND {is-visible}
FOR SHARE OF f
