-- A custom role of an organization.
-- @optional
SELECT {columns}
FROM custom_roles t
WHERE t.id = :id AND t.organization_id = :organization_id
