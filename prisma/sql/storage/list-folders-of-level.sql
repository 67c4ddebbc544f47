-- The folders in a folder, or at the root, by name: those after a place.
-- @many
SELECT {folder-columns}, d.project_id, lower(d.name) AS "sort_name!"
FROM folders d
WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL AND d.parent_id IS NOT DISTINCT FROM :folder_id?
  AND (lower(d.name), d.id) > (:after_name, :after_id)
ORDER BY lower(d.name), d.id LIMIT :limit
