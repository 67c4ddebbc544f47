-- The files for an archive: those with the ids, or those of a folder and its subfolders, by path and name.
-- @many searches
SELECT f.id, f.name, coalesce(d.path, '') AS "path!", f.bytes, f.blob_key,
  coalesce(f.content_updated_at, f.created_at) AS "modified_at!"
FROM files f LEFT JOIN folders d ON d.id = f.folder_id
WHERE f.workspace_id = :workspace_id AND {is-visible}
  AND (:ids?::text[] IS NULL OR f.id = ANY(:ids))
  AND (:path = '' OR :ids IS NOT NULL OR d.path = :path OR starts_with(d.path, :path || '/'))
ORDER BY coalesce(d.path, '') COLLATE "C", f.name COLLATE "C", f.id
LIMIT :limit
