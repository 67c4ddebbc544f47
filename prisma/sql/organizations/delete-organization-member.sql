-- Deletes a member or an invitation.
-- @none
DELETE FROM organization_members WHERE id = :id
