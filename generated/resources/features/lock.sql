-- A feature, locked against other writers.
-- @optional
SELECT {columns}
FROM features t
WHERE t.id = :id
FOR NO KEY UPDATE
