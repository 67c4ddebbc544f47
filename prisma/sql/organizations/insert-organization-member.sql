-- Inserts a member, or an invitation.
-- @one
WITH m AS (
  INSERT INTO organization_members
    (id, organization_id, user_id, email, role, status, created_by, created_at, expires_at)
  VALUES
    (:id, :organization_id, :user_id?, :email?, :role, :status, :created_by, :created_at, :expires_at?)
  RETURNING *
)
SELECT {organization-member-columns} FROM m {member-user}
