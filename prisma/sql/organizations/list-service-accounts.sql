-- The service accounts of an organization or a project.
-- @page
SELECT {service-account-columns}
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE (s.organization_id = :organization_id? OR s.project_id = :project_id?) AND s.deleted_at IS NULL
-- @common s.created_at s.updated_at s.metadata
-- @sort created_at
s.created_at
-- @sort updated_at
s.updated_at
-- @sort name
lower(u.name)
-- @id
s.id
