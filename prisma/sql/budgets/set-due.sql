-- Looks at the thresholds of a budget again, whose amount or thresholds changed.
-- @none
UPDATE budget_periods SET due = true WHERE budget_id = :id
  AND since = (SELECT (budget_period(b.period, b.starts_at, now())).since FROM budgets b WHERE b.id = :id)
