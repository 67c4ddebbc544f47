-- The customer with this id of the seller's own. The seller is an organization, or the operator.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.external_id = :external_id AND t.organization_id IS NOT DISTINCT FROM :organization_id?::text AND {is-living}
