-- The upload links of a workspace, or of all workspaces whose links a user can read.
-- @page
SELECT {upload-link-columns}, l.project_id
FROM upload_links l
WHERE true
-- @filter reader searches
{projects/in-readable row=l role=storage_role}
-- @otherwise
l.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=l}
-- @common l.id=ulk l.updated_at l.metadata
-- @filter status
{upload-link-status} = ANY(:status)
-- @filter created_by searches
l.owner_id = :created_by
-- @sort created_at
l.id
-- @sort expires_at
l.expires_at
-- @sort updated_at
l.updated_at
-- @id
l.id
