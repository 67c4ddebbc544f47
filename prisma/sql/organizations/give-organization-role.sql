-- Makes an owner or admin of an organization a member of all of its projects.
-- @none
INSERT INTO members (id, project_id, user_id, role, organization_role, project_status, created_at)
SELECT new_id('mem', :created_at), p.id, :user_id, :role, :role, p.status, :created_at
FROM projects p WHERE p.organization_id = :organization_id ORDER BY p.id
ON CONFLICT (project_id, user_id) DO UPDATE SET organization_role = excluded.organization_role
