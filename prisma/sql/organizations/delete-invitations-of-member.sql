-- Deletes the pending invitations that a user made to an organization; with `:of_owners` only those of
-- owners.
-- @none
DELETE FROM organization_members
WHERE organization_id = :organization_id AND created_by = :user_id AND status = 'invited'
  AND (role = 'owner' OR NOT :of_owners)
