-- The sessions of a workspace. `title` is a pattern for LIKE. Ids sort by creation time.
-- @page
SELECT {session-columns}, s.project_id
FROM ai_sessions s
WHERE s.workspace_id = :workspace_id
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
