-- The blobs of files and of their versions in the order of their keys, those after a key.
-- @many
SELECT DISTINCT ON (f.blob_key) f.blob_key AS "key!", f.bytes AS "bytes!",
  EXISTS (SELECT FROM {content-blobs} r WHERE r.blob_key = f.blob_key AND r.since < :before) AS is_counted
FROM (
  (SELECT blob_key, bytes FROM files WHERE blob_key > :after ORDER BY blob_key LIMIT :limit)
  UNION ALL
  (SELECT blob_key, bytes FROM file_versions WHERE blob_key > :after ORDER BY blob_key LIMIT :limit)
) f ORDER BY f.blob_key LIMIT :limit
