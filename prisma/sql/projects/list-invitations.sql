-- The invitations to a project.
-- @page
SELECT {invitation-columns}
FROM invitations i
WHERE i.project_id = :project_id
-- @filter status
{invitation-status} = :status
-- @sort created_at
i.created_at
-- @sort email
i.email
-- @id
i.id
