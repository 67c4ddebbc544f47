-- Deletes the memberships of a user in organizations, and the invitations that the user got or made.
-- @none
DELETE FROM organization_members
WHERE user_id = :user_id OR email = :email OR (created_by = :user_id AND status = 'invited')
