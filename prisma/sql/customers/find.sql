-- A customer of any seller.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.id = :id AND {is-living}
