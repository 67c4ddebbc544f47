-- The links of the files of a workspace, or of all files whose links a user can read.
-- @page
SELECT {link-columns}
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE {is-visible}
-- @filter reader searches
{projects/in-readable row=f role=storage_role}
-- @otherwise
f.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=f}
-- @common l.created_at l.updated_at l.metadata
-- @filter file_id searches
l.file_id = :file_id
-- @filter status
{link-status} = ANY(:status)
-- @filter created_by searches
l.created_by = :created_by
-- @sort created_at
l.created_at
-- @sort expires_at
l.expires_at
-- @sort updated_at
l.updated_at
-- @id
l.id
