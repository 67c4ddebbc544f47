-- The files of a workspace. TypeIDs sort by creation time. The total without filters is the maintained count,
-- minus expired files that are not deleted yet.
-- @page
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.workspace_id = :workspace_id AND {is-unexpired}
-- @common f.id=file f.updated_at f.metadata
-- @filter content_type_pattern searches
f.content_type COLLATE "C" LIKE :content_type_pattern
-- @filter visibility searches
f.visibility = ANY(:visibility)
-- @filter tag searches
f.tags @> ARRAY[:tag]::text[]
-- @filter path searches
f.path COLLATE "C" = :path OR f.path COLLATE "C" LIKE :subfolder_pattern
-- @filter name_pattern searches
lower(f.name) LIKE lower(:name_pattern)
-- @filter created_by
f.owner_id = :created_by
-- @sort created_at
f.id
-- @sort name
lower(f.name)
-- @sort bytes
f.bytes
-- @sort updated_at
f.updated_at
-- @id
f.id
-- @total
SELECT coalesce((SELECT files FROM storage_usage WHERE workspace_id = :workspace_id), 0)
  - (SELECT count(*) FROM files f WHERE f.workspace_id = :workspace_id AND f.expires_at <= now()) AS total
