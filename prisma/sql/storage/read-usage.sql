-- The storage usage of a workspace. `bytes` includes the trash and the versions. `reserved`: the bytes of
-- unfinished uploads and of uploads in progress.
-- @one
SELECT coalesce(f.files - f.trashed_files, 0) AS files, coalesce(f.bytes + f.version_bytes, 0) AS bytes,
  coalesce(f.trashed_files, 0) AS trashed_files, coalesce(f.trashed_bytes, 0) AS trashed_bytes,
  coalesce(f.versions, 0) AS versions, coalesce(f.version_bytes, 0) AS version_bytes,
  u.used - coalesce(f.bytes + f.version_bytes, 0) AS "reserved!"
FROM storage_use(:workspace_id, NULL) u LEFT JOIN storage_usage f ON f.workspace_id = :workspace_id
