-- The columns of a Member, from members m and users u.
-- @type user Schemas['Member']['user']
-- @type metadata Record<string, string>
-- @type organization_role Schemas['Member']['organization_role']
m.id, m.project_id, m.role, m.custom_role_id, m.organization_role, m.created_by, m.metadata, m.created_at,
m.updated_at,
jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', :origin || u.avatar_url
) AS user
