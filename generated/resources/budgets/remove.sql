-- Deletes a budget.
-- @none
DELETE FROM budgets WHERE id = :id
