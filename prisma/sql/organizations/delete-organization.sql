-- Deletes an organization.
-- @none
DELETE FROM organizations WHERE id = :id
