-- The storage usage of a workspace. `reserved`: the bytes of unfinished uploads and of uploads in progress.
-- @one
SELECT coalesce(f.files, 0) AS files, coalesce(f.bytes, 0) AS bytes,
  u.used - coalesce(f.bytes, 0) AS "reserved!"
FROM storage_use(:workspace_id, NULL) u LEFT JOIN storage_usage f ON f.workspace_id = :workspace_id
