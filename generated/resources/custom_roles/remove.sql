-- Deletes a custom role.
-- @none
DELETE FROM custom_roles WHERE id = :id
