-- A product, locked against other writers.
-- @optional
SELECT {columns}
FROM products t
WHERE t.id = :id
FOR NO KEY UPDATE
