-- Makes a user an owner of a project that otherwise has none beside those of its organization.
-- @none
INSERT INTO members (id, project_id, user_id, role, own_role, project_status, created_at)
SELECT new_id('mem', :created_at), p.id, :user_id, 'owner', 'owner', p.status, :created_at
FROM projects p
WHERE p.id = :id AND NOT EXISTS (SELECT FROM members m WHERE m.project_id = p.id AND m.own_role = 'owner')
ON CONFLICT (project_id, user_id) DO UPDATE SET own_role = 'owner', custom_role_id = NULL
