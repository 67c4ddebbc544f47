-- The storage usage of a workspace. `reserved`: the bytes of unfinished uploads and of uploads in progress.
-- @one
SELECT coalesce(f.files, 0) AS files, coalesce(f.bytes, 0) AS bytes,
  u.used - coalesce(f.bytes, 0) AS "reserved!"
FROM storage_use(:space_id, NULL) u LEFT JOIN storage_usage f ON f.space_id = :space_id
