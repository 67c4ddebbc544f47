-- Notes the thresholds of a period that were notified.
-- @none
UPDATE budget_periods SET due = false, notified = notified || :passed::int[]
WHERE budget_id = :budget_id AND since = :since
