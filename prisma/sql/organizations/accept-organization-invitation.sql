-- Makes the invited user a member.
-- @one
WITH m AS (
  UPDATE organization_members SET user_id = :user_id, email = NULL, status = 'active', expires_at = NULL,
    accepts_limits = (role = 'owner')
  WHERE id = :id RETURNING *
)
SELECT {organization-member-columns} FROM m {member-user}
