-- A price, locked against other writers.
-- @optional
SELECT {columns}
FROM prices t
WHERE t.id = :id
FOR NO KEY UPDATE
