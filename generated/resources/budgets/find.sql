-- A budget.
-- @optional
SELECT {columns}
FROM budgets t
WHERE t.id = :id
