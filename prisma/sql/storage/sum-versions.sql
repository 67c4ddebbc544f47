-- The bytes of the versions of a file.
-- @one
SELECT coalesce(sum(bytes), 0)::bigint AS "bytes!" FROM file_versions WHERE file_id = :file_id
