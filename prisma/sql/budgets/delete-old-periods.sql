-- Deletes periods of budgets that began long ago and that a later one follows.
-- @one
WITH deleted AS (
  DELETE FROM budget_periods WHERE (budget_id, since) IN (
    SELECT p.budget_id, p.since FROM budget_periods p
    WHERE p.since < now() - interval '400 days'
      AND EXISTS (SELECT FROM budget_periods n WHERE n.budget_id = p.budget_id AND n.since > p.since)
    LIMIT :limit
  )
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
