-- The customer with this id of the seller's own.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.external_id = :external_id AND {is-living}
  -- IS NOT DISTINCT FROM would use no index.
  AND (t.organization_id = :organization_id?::text
    OR t.organization_id IS NULL AND :organization_id?::text IS NULL)
