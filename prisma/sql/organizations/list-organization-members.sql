-- The members of an organization with `:active`, and the invitations to it with `:invited`.
-- @page
SELECT {organization-member-columns}
FROM organization_members m {member-user}
WHERE m.organization_id = :organization_id
  AND ((m.status = 'active' AND :active::bool) OR (m.status = 'invited' AND :invited::bool))
-- @common m.created_at m.updated_at
-- @filter role
m.role = ANY(:role)
-- @filter status
{member-status} = ANY(:status)
-- @sort created_at
m.created_at
-- @sort updated_at
m.updated_at
-- @id
m.id
