-- The columns of a Member, from members m and users u.
-- @type user Schemas['Member']['user']
m.id, m.project_id, m.role, m.added_by, m.created_at,
jsonb_build_object('id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', u.avatar_url) AS user
