-- AlterTable
ALTER TABLE "ai_messages" ADD COLUMN     "budget_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "reserved_cost_micros" BIGINT NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "budgets" (
    "id" TEXT NOT NULL,
    "subject_type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "unit" TEXT NOT NULL,
    "amount" TEXT NOT NULL,
    "period" TEXT NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "thresholds" INTEGER[],
    "enforced" BOOLEAN NOT NULL DEFAULT true,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budget_periods" (
    "budget_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "used" DECIMAL(30,0) NOT NULL,
    "notified" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
    "due" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "budget_periods_pkey" PRIMARY KEY ("budget_id","since")
);

-- CreateIndex
CREATE INDEX "budgets_subject_id_id_idx" ON "budgets"("subject_id", "id");

-- CreateIndex
CREATE INDEX "budgets_created_by_id_idx" ON "budgets"("created_by", "id");

-- AddForeignKey
ALTER TABLE "budget_periods" ADD CONSTRAINT "budget_periods_budget_id_fkey" FOREIGN KEY ("budget_id") REFERENCES "budgets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE INDEX budgets_metadata_idx ON budgets USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX budget_periods_due_idx ON budget_periods (budget_id, since) WHERE due;
ALTER TABLE budgets ADD CONSTRAINT budgets_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
ALTER TABLE budgets ADD CONSTRAINT budgets_amount CHECK (amount::numeric > 0);

-- The period of a budget at a time, as fixed instants (UTC) from its start on: the 31st is the last day of a
-- shorter month. `since` is null before the start, and `until` without periods.
CREATE OR REPLACE FUNCTION budget_period(period text, starts_at timestamp with time zone,
  at timestamp with time zone, OUT since timestamp with time zone, OUT until timestamp with time zone)
LANGUAGE plpgsql
IMMUTABLE
AS $function$
DECLARE
  base timestamp := starts_at AT TIME ZONE 'UTC';
  here timestamp := at AT TIME ZONE 'UTC';
  length interval := CASE period
    WHEN 'day' THEN interval '24 hours' WHEN 'week' THEN interval '168 hours' END;
  n integer;
BEGIN
  IF at < starts_at THEN
    until := starts_at;
  ELSIF period = 'none' THEN
    since := starts_at;
  ELSIF period = 'month' THEN
    n := (extract(year FROM here) - extract(year FROM base)) * 12 + extract(month FROM here)
      - extract(month FROM base);
    IF base + make_interval(months => n) > here THEN n := n - 1; END IF;
    since := (base + make_interval(months => n)) AT TIME ZONE 'UTC';
    until := (base + make_interval(months => n + 1)) AT TIME ZONE 'UTC';
  ELSE
    n := floor(extract(epoch FROM here - base) / extract(epoch FROM length));
    since := (base + n * length) AT TIME ZONE 'UTC';
    until := (base + (n + 1) * length) AT TIME ZONE 'UTC';
  END IF;
END $function$;

-- What answers in progress have reserved of a budget, in the units that it counts. Answers whose process died
-- reserve nothing.
CREATE OR REPLACE FUNCTION budget_reserved(budget text, unit text, heartbeat_timeout double precision)
RETURNS numeric
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce(sum(CASE unit
    WHEN 'answers' THEN 1 WHEN 'tokens' THEN m.reserved_tokens ELSE m.reserved_cost_micros END), 0)
  FROM ai_messages m
  WHERE m.status = 'in_progress' AND m.heartbeat_at > now() - make_interval(secs => heartbeat_timeout)
    AND m.budget_ids @> ARRAY[budget]
$function$;

-- The budgets that work with a model counts to, by its user, credential and project: those of the user, the
-- account of a service account, the key, the project, its organization, and the customers that these are.
CREATE OR REPLACE FUNCTION budgets_of(of_user text, credential text, project text)
RETURNS SETOF budgets
LANGUAGE plpgsql
STABLE
AS $function$
BEGIN
  RETURN QUERY SELECT b.* FROM budgets b WHERE b.subject_id IN (
    SELECT of_user
    UNION ALL SELECT account_of(of_user)
    UNION ALL SELECT credential
    UNION ALL SELECT project
    UNION ALL SELECT p.organization_id FROM projects p WHERE p.id = project
    UNION ALL SELECT c.id FROM customers c WHERE c.user_id IN (of_user, account_of(of_user))
      AND c.deleted_at IS NULL
    UNION ALL SELECT c.id FROM customers c JOIN projects p ON p.organization_id = c.buyer_organization_id
      WHERE p.id = project AND c.deleted_at IS NULL
  )
  ORDER BY b.id;
END $function$;

-- Counts work with a model to its budgets, and returns 1. Marks periods whose use passes a threshold: a job
-- notifies. The rows are locked in the order of the ids.
CREATE OR REPLACE FUNCTION count_budgets(of_user text, credential text, project text, more_answers bigint,
  more_tokens bigint, more_cost bigint)
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
    current := budget_period(b.period, b.starts_at, now());
    change := CASE b.unit WHEN 'answers' THEN more_answers WHEN 'tokens' THEN more_tokens ELSE more_cost END;
    CONTINUE WHEN current.since IS NULL OR change = 0;
    INSERT INTO budget_periods AS p (budget_id, since, used) VALUES (b.id, current.since, change)
    ON CONFLICT (budget_id, since) DO UPDATE SET used = greatest(p.used + change, 0);
    UPDATE budget_periods p SET due = true
    WHERE p.budget_id = b.id AND p.since = current.since AND NOT p.due AND EXISTS (
      SELECT FROM unnest(b.thresholds) AS t (percent)
      WHERE p.used * 100 >= t.percent * b.amount::numeric * CASE b.unit WHEN 'money' THEN 1000000 ELSE 1 END
        AND t.percent <> ALL (p.notified));
  END LOOP;
  RETURN 1;
END $function$;

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

-- AddCheck
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_subject_type_check"
  CHECK ("subject_type" IN ('user', 'customer', 'key', 'project', 'organization'));

-- AddCheck
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_unit_check"
  CHECK ("unit" IN ('money', 'tokens', 'answers'));

-- AddCheck
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_period_check"
  CHECK ("period" IN ('day', 'week', 'month', 'none'));
