-- Inserts a pending invitation.
-- @one
WITH i AS (
  INSERT INTO invitations
    (id, project_id, email, user_id, role, created_by, metadata, created_at, expires_at)
  VALUES
    (:id, :project_id, :email, :user_id?, :role, :created_by, :metadata, :created_at, :expires_at)
  RETURNING *
)
SELECT {invitation-columns} FROM i {invitation-names}
