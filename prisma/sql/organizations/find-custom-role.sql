-- A custom role of an organization.
-- @optional
SELECT {custom-role-columns} FROM custom_roles r
WHERE r.id = :id AND r.organization_id = :organization_id
