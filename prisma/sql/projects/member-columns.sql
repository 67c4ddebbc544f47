-- The columns of a Member, from members m and users u.
-- @type user Schemas['Member']['user']
-- @type metadata Record<string, string>
m.id, m.project_id, m.role, m.created_by, m.metadata, m.created_at, m.updated_at,
jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', :origin || u.avatar_url
) AS user
