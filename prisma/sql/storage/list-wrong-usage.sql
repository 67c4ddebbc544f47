-- The workspaces whose usage is not what their files and versions come to.
-- @many
SELECT coalesce(u.workspace_id, c.workspace_id) AS "workspace_id!"
FROM storage_usage u FULL JOIN {counted-usage workspace=workspace_id} c ON c.workspace_id = u.workspace_id
WHERE (coalesce(u.files, 0), coalesce(u.bytes, 0), coalesce(u.trashed_files, 0),
    coalesce(u.trashed_bytes, 0), coalesce(u.versions, 0), coalesce(u.version_bytes, 0))
  IS DISTINCT FROM (coalesce(c.files, 0), coalesce(c.bytes, 0), coalesce(c.trashed_files, 0),
    coalesce(c.trashed_bytes, 0), coalesce(c.versions, 0), coalesce(c.version_bytes, 0))
ORDER BY 1
