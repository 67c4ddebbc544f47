-- Whether the user u and the caller :caller_id are members of one project or one organization.
(EXISTS (
  SELECT FROM members own JOIN members m ON m.project_id = own.project_id
  WHERE own.user_id = :caller_id AND m.user_id = u.id AND own.project_status <> 'deleted'
) OR EXISTS (
  SELECT FROM organization_members own JOIN organization_members m ON m.organization_id = own.organization_id
  WHERE own.user_id = :caller_id AND own.status = 'active' AND m.user_id = u.id AND m.status = 'active'
))
