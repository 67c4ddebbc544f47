-- The blobs of files in the order of their keys, those after a key.
-- @many
SELECT f.blob_key AS key, f.bytes, f.created_at < :before AS is_counted
FROM files f WHERE f.blob_key > :after ORDER BY f.blob_key LIMIT :limit
