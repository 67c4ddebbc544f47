-- Sets when an invitation expires. It is from then on that of the user who sent it again.
-- @one
WITH m AS (
  UPDATE organization_members SET expires_at = :expires_at, created_by = :author_id WHERE id = :id RETURNING *
)
SELECT {organization-member-columns} FROM m {member-user}
