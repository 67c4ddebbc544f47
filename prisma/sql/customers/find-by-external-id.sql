-- The customer with this id of the seller's own.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.external_id = :external_id AND {is-living}
  AND t.organization_id IS NOT DISTINCT FROM :organization_id?::text
