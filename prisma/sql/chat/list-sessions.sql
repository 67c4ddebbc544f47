-- The sessions of a workspace, or of all that a user can read. `title` is a pattern for LIKE. Ids sort by
-- creation time.
-- @page
SELECT {session-columns}, s.project_id
FROM ai_sessions s
WHERE true
-- @filter reader searches
{projects/in-readable row=s role=ai_role}
-- @otherwise
s.workspace_id = :workspace_id
-- @filter organization_id searches
{projects/in-organization row=s}
-- @common s.id=cs s.updated_at s.metadata
-- @filter status
s.status = ANY(:status)
-- @filter title
lower(s.title) LIKE lower(:title)
-- @filter created_by
s.owner_id = :created_by
-- @sort created_at
s.id
-- @sort updated_at
s.updated_at
-- @id
s.id
