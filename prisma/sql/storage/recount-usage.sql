-- Counts the files and versions of a workspace again. The usage is locked.
-- @none
UPDATE storage_usage u SET files = coalesce(c.files, 0), bytes = coalesce(c.bytes, 0),
  trashed_files = coalesce(c.trashed_files, 0), trashed_bytes = coalesce(c.trashed_bytes, 0),
  versions = coalesce(c.versions, 0), version_bytes = coalesce(c.version_bytes, 0)
FROM (SELECT 1) one
  LEFT JOIN {counted-usage workspace=:workspace_id} c ON true
WHERE u.workspace_id = :workspace_id
