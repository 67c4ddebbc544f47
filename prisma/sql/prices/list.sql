-- The prices of a seller: an organization, or the operator.
-- @page
SELECT {columns}
FROM prices t
WHERE true
-- @common t.id=prc t.updated_at t.metadata
-- @filter organization_id
t.organization_id = :organization_id
-- @otherwise
t.organization_id IS NULL
-- @filter product_id
t.product_id = :product_id
-- @filter currency
t.currency = :currency
-- @filter active
t.active = :active
-- @filter created_by
t.created_by = :created_by
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @sort unit_amount
t.unit_amount
-- @id
t.id
