-- The blobs of files and of their versions, and since when a row has them.
(SELECT blob_key, bytes, sha256, coalesce(content_updated_at, created_at) AS since FROM files
  UNION ALL SELECT blob_key, bytes, sha256, created_at FROM file_versions)
