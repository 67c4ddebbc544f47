-- The products of a seller: an organization, or the operator.
-- @page
SELECT {columns}
FROM products t
WHERE true
-- @common t.id=prod t.updated_at t.metadata
-- @filter organization_id
t.organization_id = :organization_id
-- @otherwise
t.organization_id IS NULL
-- @filter active
t.active = :active
-- @filter created_by
t.created_by = :created_by
-- @filter q searches
{filter-q}
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @sort name
lower(t.name)
-- @id
t.id
