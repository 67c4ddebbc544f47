-- A version of a file, and the key of its blob.
-- @optional
SELECT {version-columns}, v.blob_key FROM file_versions v WHERE v.id = :id AND v.file_id = :file_id
