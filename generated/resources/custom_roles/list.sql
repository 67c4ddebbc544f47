-- The custom roles of an organization.
-- @page
SELECT {columns}
FROM custom_roles t
WHERE t.organization_id = :organization_id
-- @common t.id=rol t.updated_at
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @sort name
lower(t.name)
-- @id
t.id
