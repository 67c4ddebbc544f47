-- The columns of an OrganizationMember, from `organization_members m {member-user}`.
-- @type status Schemas['OrganizationMember']['status']
-- @type user Schemas['OrganizationMember']['user']
m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
{member-status} AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', :origin || u.avatar_url
) END AS "user?"
