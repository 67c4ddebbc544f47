-- The folders in a folder, or at the root, by name: those after a place. `folders_name_idx` has the first 255
-- characters of a name.
-- @many
SELECT {folder-columns}, d.project_id, left(lower(d.name), 255) AS "sort_name!"
FROM folders d
WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL AND d.parent_id IS NOT DISTINCT FROM :folder_id?
  AND (left(lower(d.name), 255), d.id) > (:after_name, :after_id)
ORDER BY left(lower(d.name), 255), d.id LIMIT :limit
