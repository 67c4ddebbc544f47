-- Counts work with a model to the periods of its budgets at a time, and returns 1. A correction has the time
-- of what it corrects. Marks periods whose use passes a threshold: a job notifies. The rows are locked in the
-- order of the ids.
CREATE OR REPLACE FUNCTION count_budgets(of_user text, credential text, project text, more_answers bigint,
  more_tokens bigint, more_cost bigint, at timestamp with time zone DEFAULT now())
RETURNS integer
LANGUAGE plpgsql
AS $function$
DECLARE
  b budgets;
  current record;
  change numeric;
BEGIN
  IF NOT EXISTS (SELECT FROM budgets) THEN RETURN 1; END IF;
  FOR b IN SELECT * FROM budgets_of(of_user, credential, project) LOOP
    current := budget_period(b.period, b.starts_at, at);
    change := CASE b.unit WHEN 'answers' THEN more_answers WHEN 'tokens' THEN more_tokens ELSE more_cost END;
    CONTINUE WHEN current.since IS NULL OR change = 0;
    INSERT INTO budget_periods AS p (budget_id, since, used) VALUES (b.id, current.since, greatest(change, 0))
    ON CONFLICT (budget_id, since) DO UPDATE SET used = greatest(p.used + change, 0);
    UPDATE budget_periods p SET due = true
    WHERE p.budget_id = b.id AND p.since = current.since AND NOT p.due AND EXISTS (
      SELECT FROM unnest(b.thresholds) AS t (percent)
      WHERE p.used * 100 >= t.percent * b.amount::numeric * CASE b.unit WHEN 'money' THEN 1000000 ELSE 1 END
        AND t.percent <> ALL (p.notified));
  END LOOP;
  RETURN 1;
END $function$;
