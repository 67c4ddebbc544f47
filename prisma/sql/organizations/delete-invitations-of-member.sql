-- Deletes the pending invitations of a user to an organization.
-- @none
DELETE FROM organization_members
WHERE organization_id = :organization_id AND created_by = :user_id AND status = 'invited'
