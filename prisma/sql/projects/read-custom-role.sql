-- The organization of a custom role.
-- @optional
SELECT organization_id FROM custom_roles WHERE id = :id
