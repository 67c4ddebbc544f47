-- The service accounts of an organization, or of a project.
-- @many
SELECT id, user_id FROM service_accounts
WHERE (organization_id = :organization_id? OR project_id = :project_id?) AND deleted_at IS NULL ORDER BY id
