-- The storage usage of a workspace.
-- @optional
SELECT files, bytes FROM storage_usage WHERE space_id = :space_id
