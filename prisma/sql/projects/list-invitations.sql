-- The invitations to a project.
-- @page
SELECT {invitation-columns}
FROM invitations i {invitation-names}
WHERE i.project_id = :project_id
-- @common i.created_at i.updated_at i.metadata
-- @filter status
{invitation-status} = ANY(:status)
-- @sort created_at
i.created_at
-- @sort email
i.email
-- @sort updated_at
i.updated_at
-- @id
i.id
-- @total
SELECT count(*) AS total FROM invitations WHERE project_id = :project_id
