-- A budget, locked against other writers.
-- @optional
SELECT {columns}
FROM budgets t
WHERE t.id = :id
FOR NO KEY UPDATE
