-- The files at the root of a workspace, by name: those after a place.
-- @many
SELECT {file-columns}, f.project_id, f.owner_id, lower(f.name) AS "sort_name!"
FROM files f
WHERE f.workspace_id = :workspace_id AND f.folder_id IS NULL AND {is-visible}
  AND (lower(f.name), f.id) > (:after_name, :after_id)
ORDER BY lower(f.name), f.id LIMIT :limit
