-- The storage usage of a workspace. `bytes` includes the trash. `reserved`: the bytes of unfinished uploads
-- and of uploads in progress.
-- @one
SELECT coalesce(f.files - f.trashed_files, 0) AS files, coalesce(f.bytes, 0) AS bytes,
  coalesce(f.trashed_files, 0) AS trashed_files, coalesce(f.trashed_bytes, 0) AS trashed_bytes,
  u.used - coalesce(f.bytes, 0) AS "reserved!"
FROM storage_use(:workspace_id, NULL) u LEFT JOIN storage_usage f ON f.workspace_id = :workspace_id
