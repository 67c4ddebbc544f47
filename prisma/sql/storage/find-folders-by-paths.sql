-- The folders with these paths, each in its workspace.
-- @many
SELECT d.id, d.workspace_id, d.path
FROM unnest(:workspace_ids::text[], :paths::text[]) AS w (workspace_id, path)
  JOIN folders d ON d.workspace_id = w.workspace_id AND md5(d.path) = md5(w.path) AND d.path = w.path
WHERE d.deleted_at IS NULL
