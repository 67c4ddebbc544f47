-- Makes the owners and admins of an organization members of a project.
-- @none
INSERT INTO members (id, project_id, user_id, role, organization_role, project_status, created_at)
SELECT new_id('mem', :created_at), p.id, o.user_id, r.role, r.role, p.status, :created_at
FROM projects p JOIN organization_members o ON o.organization_id = p.organization_id
  CROSS JOIN LATERAL (SELECT o.role::text::"MemberRole" AS role WHERE o.role <> 'member') r
WHERE p.id = :project_id AND o.status = 'active' ORDER BY o.user_id
ON CONFLICT (project_id, user_id) DO UPDATE SET organization_role = excluded.organization_role
