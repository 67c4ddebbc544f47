-- The files of a workspace, or of all that a user can read. TypeIDs sort by creation time. The total without
-- filters is the maintained count, minus files in the trash, expired files that are not deleted yet, and
-- those of folders that are being deleted.
-- @page
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE {is-visible}
-- @filter reader searches
{projects/in-readable row=f role=storage_role}
-- @otherwise
f.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=f}
-- @common f.id=file f.updated_at f.metadata
-- @filter content_type_pattern searches
f.content_type COLLATE "C" LIKE :content_type_pattern
-- @filter visibility searches
f.visibility = ANY(:visibility)
-- @filter tag searches
f.tags @> ARRAY[:tag]::text[]
-- @filter path searches
EXISTS (SELECT FROM folders d WHERE d.id = f.folder_id AND d.workspace_id = f.workspace_id
  AND (d.path = normalize(:path, NFC) OR starts_with(d.path, normalize(:path, NFC) || '/')))
-- @filter folder searches
EXISTS (SELECT FROM folders d WHERE d.id = f.folder_id AND d.workspace_id = f.workspace_id
  AND md5(d.path) = md5(normalize(:folder, NFC)) AND d.path = normalize(:folder, NFC))
-- @filter in_root searches
f.folder_id IS NULL AND :in_root
-- @filter folder_id searches
f.folder_id = :folder_id
-- @filter name searches
{has-name name=:name}
-- @filter name_pattern searches
lower(f.name) LIKE lower(:name_pattern)
-- @filter without_purposes
NOT coalesce(f.metadata ->> 'purpose' = ANY(:without_purposes), false)
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
SELECT coalesce((SELECT files - trashed_files FROM storage_usage WHERE workspace_id = :workspace_id), 0)
  - (SELECT count(*) FROM files f
     WHERE f.workspace_id = :workspace_id AND f.expires_at <= now() AND f.trashed_at IS NULL
       AND {is-in-kept-folder})
  - (SELECT coalesce(sum(j.total - j.done), 0)::bigint FROM tracked_jobs j
     WHERE j.workspace_id = :workspace_id AND j.status IN ('queued', 'running')
       AND j.type = 'folder_delete') AS total
