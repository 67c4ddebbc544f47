-- The blobs of files in the order of their keys, those after a key.
-- @many
SELECT DISTINCT ON (f.blob_key) f.blob_key AS key, f.bytes,
  EXISTS (SELECT FROM files r WHERE r.blob_key = f.blob_key AND r.created_at < :before) AS is_counted
FROM files f WHERE f.blob_key > :after ORDER BY f.blob_key LIMIT :limit
