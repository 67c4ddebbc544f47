-- A product.
-- @optional
SELECT {columns}
FROM products t
WHERE t.id = :id
