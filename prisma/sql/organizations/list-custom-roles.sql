-- The custom roles of an organization.
-- @page
SELECT {custom-role-columns}
FROM custom_roles r
WHERE r.organization_id = :organization_id
-- @common r.created_at r.updated_at
-- @sort created_at
r.created_at
-- @sort updated_at
r.updated_at
-- @sort name
lower(r.name)
-- @id
r.id
