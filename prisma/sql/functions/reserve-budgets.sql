-- The ids of the budgets that work with a model will count to. Work on an enforced budget starts one after
-- the other until the transaction ends, so that each sees what the one before has reserved.
-- @throws check_violation with the constraint `budget` when one of them is used up or reserved
CREATE OR REPLACE FUNCTION reserve_budgets(of_user text, credential text, project text,
  is_answer boolean, heartbeat_timeout double precision)
RETURNS text[]
LANGUAGE plpgsql
AS $function$
DECLARE
  b budgets;
  ids text[] := '{}';
  current record;
  used_now numeric;
BEGIN
  IF NOT EXISTS (SELECT FROM budgets) THEN RETURN ids; END IF;
  FOR b IN SELECT * FROM budgets_of(of_user, credential, project) LOOP
    current := budget_period(b.period, b.starts_at, now());
    CONTINUE WHEN current.since IS NULL OR (b.unit = 'answers' AND NOT is_answer);
    ids := ids || b.id;
    CONTINUE WHEN NOT b.enforced;
    PERFORM pg_advisory_xact_lock(hashtextextended('budget ' || b.id, 0));
    used_now := coalesce((SELECT p.used FROM budget_periods p
      WHERE p.budget_id = b.id AND p.since = current.since), 0)
      + budget_reserved(b.id, b.unit, heartbeat_timeout);
    IF used_now >= (b.amount::numeric * CASE b.unit WHEN 'money' THEN 1000000 ELSE 1 END) THEN
      RAISE EXCEPTION 'budget reached: %', jsonb_build_object('id', b.id, 'unit', b.unit,
        'amount', b.amount::numeric, 'used', used_now, 'resets_at', to_char(current.until AT TIME ZONE 'UTC',
          'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        USING ERRCODE = 'check_violation', CONSTRAINT = 'budget';
    END IF;
  END LOOP;
  RETURN ids;
END $function$;
