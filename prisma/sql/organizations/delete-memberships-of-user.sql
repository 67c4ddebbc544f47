-- Deletes the memberships of a user in organizations, and the invitations that the user got or made. Returns
-- the memberships.
-- @many
WITH deleted AS (
  DELETE FROM organization_members
  WHERE user_id = :user_id OR email = :email OR (created_by = :user_id AND status = 'invited')
  RETURNING *
)
SELECT {organization-member-columns} FROM deleted m {member-user}
WHERE m.user_id = :user_id AND m.status = 'active' ORDER BY m.organization_id
