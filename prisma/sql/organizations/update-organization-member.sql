-- Sets the role of a member.
-- @one
WITH m AS (UPDATE organization_members SET role = :role WHERE id = :id RETURNING *)
SELECT {organization-member-columns} FROM m {member-user}
