-- The service accounts of the organizations and projects of which a user is an admin.
-- @page
SELECT {service-account-columns}
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.deleted_at IS NULL AND s.id IN (
  SELECT a.id FROM organization_members m JOIN service_accounts a ON a.organization_id = m.organization_id
  WHERE m.user_id = :user_id AND m.status = 'active' AND m.role <> 'member'
  UNION ALL
  SELECT a.id FROM members m JOIN service_accounts a ON a.project_id = m.project_id
    JOIN projects p ON p.id = m.project_id
  WHERE m.user_id = :user_id AND m.project_status <> 'deleted'
    AND (m.role = 'owner' OR (m.role = 'admin' AND p.organization_id IS NOT NULL))
)
-- @common s.created_at s.updated_at s.metadata
-- @filter organization_id
s.organization_id = :organization_id
-- @filter key_created_by
EXISTS (SELECT FROM api_keys k WHERE k.user_id = s.user_id AND k.created_by = :key_created_by
  AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true))
-- @filter project_id
s.project_id = :project_id
-- @sort created_at
s.created_at
-- @sort updated_at
s.updated_at
-- @sort name
lower(u.name)
-- @id
s.id
