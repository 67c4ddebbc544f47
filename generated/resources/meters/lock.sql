-- A meter, locked against other writers.
-- @optional
SELECT {columns}
FROM meters t
WHERE t.id = :id
FOR NO KEY UPDATE
