-- The users that are not deleted, with the bytes of their files outside projects. Locks them against
-- deletion.
-- @many
SELECT id, coalesce(
  (SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = users.id), 0) AS "storage_bytes!"
FROM users WHERE id = ANY(:ids) AND status <> 'deleted' ORDER BY id FOR KEY SHARE
