-- Periods of budgets whose use may have passed a threshold, with the thresholds that it passed.
-- @many
SELECT p.budget_id, p.since, ARRAY(
    SELECT t.percent FROM unnest(b.thresholds) AS t (percent)
    WHERE p.used * 100 >= t.percent * b.amount::numeric * CASE b.unit WHEN 'money' THEN 1000000 ELSE 1 END
      AND t.percent <> ALL (p.notified)
    ORDER BY t.percent
  ) AS "passed!"
FROM budget_periods p JOIN budgets b ON b.id = p.budget_id
WHERE p.due
ORDER BY p.budget_id, p.since
LIMIT :limit
FOR UPDATE OF p SKIP LOCKED
