-- The columns of a ServiceAccount, from service_accounts s and users u.
-- @type metadata Record<string, string>
s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at
