-- The customer of the operator with this id of the seller's own.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.external_id = :external_id AND {is-living}
