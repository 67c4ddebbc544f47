-- The files in the trash of a workspace, or of all that a user can read.
-- @page
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE {is-in-trash}
-- @filter reader searches
{projects/in-readable row=f role=storage_role}
-- @otherwise
f.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=f}
-- @common f.id=file f.updated_at f.metadata
-- @filter name_pattern searches
lower(f.name) LIKE lower(:name_pattern)
-- @filter created_by
f.owner_id = :created_by
-- @sort trashed_at
f.trashed_at
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
