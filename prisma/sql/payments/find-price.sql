-- A price.
-- @optional
SELECT {price-columns}
FROM prices p
WHERE p.id = :id
