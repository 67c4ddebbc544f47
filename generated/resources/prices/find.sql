-- A price.
-- @optional
SELECT {columns}
FROM prices t
WHERE t.id = :id
