-- The customers of a seller: an organization, or the operator.
-- @page
SELECT {columns}
FROM customers t
WHERE {is-living}
-- @common t.id=cus t.updated_at t.metadata
-- @filter organization_id
t.organization_id = :organization_id
-- @otherwise
t.organization_id IS NULL
-- @filter email
t.email = :email
-- @filter external_id
t.external_id = :external_id
-- @filter user_id
t.user_id = :user_id
-- @filter buyer_organization_id
t.buyer_organization_id = :buyer_organization_id
-- @filter created_by
t.created_by = :created_by
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @id
t.id
