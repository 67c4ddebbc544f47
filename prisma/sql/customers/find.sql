-- A customer of the operator.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.id = :id AND {is-living}
