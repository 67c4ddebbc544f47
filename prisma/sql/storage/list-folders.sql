-- The folders of a workspace, or of all that a user can read. The sort by name reads as much of the names as
-- `folders_name_idx`.
-- @page
SELECT {folder-columns}, d.project_id
FROM folders d
WHERE d.deleted_at IS NULL
-- @filter reader searches
{projects/in-readable row=d role=storage_role}
-- @otherwise
d.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=d}
-- @common d.created_at d.updated_at d.metadata
-- @filter in_root
d.parent_id IS NULL AND :in_root
-- @filter parent_id searches
d.parent_id = :parent_id
-- @filter name_pattern searches
lower(d.name) LIKE lower(:name_pattern)
-- @filter created_by
d.owner_id = :created_by
-- @sort created_at
d.id
-- @sort name
left(lower(d.name), 255)
-- @sort updated_at
d.updated_at
-- @id
d.id
