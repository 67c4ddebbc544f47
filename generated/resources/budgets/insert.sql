-- Inserts a budget.
-- @one
INSERT INTO budgets AS t (id, subject_type, subject_id, unit, amount, period, starts_at, thresholds, enforced, metadata, created_by, created_at, updated_at)
VALUES (:id, :subject_type, :subject_id, :unit, :amount, :period, :starts_at?, :thresholds, :enforced, :metadata, :created_by?, :created_at, :created_at)
RETURNING {columns}
