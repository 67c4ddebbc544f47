-- Updates a locked budget.
-- @one
UPDATE budgets t SET subject_type = :subject_type, amount = :amount, thresholds = :thresholds, enforced = :enforced, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
