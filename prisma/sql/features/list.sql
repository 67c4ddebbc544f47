-- The features of a seller: an organization, or the operator.
-- @page
SELECT {columns}
FROM features t
WHERE true
-- @common t.id=feat t.updated_at t.metadata
-- @filter organization_id
t.organization_id = :organization_id
-- @otherwise
t.organization_id IS NULL
-- @filter key
t.key = :key
-- @filter type
t.type = :type
-- @filter active
t.active = :active
-- @filter created_by
t.created_by = :created_by
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @sort key
t.key
-- @id
t.id
