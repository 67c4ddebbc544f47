-- CreateTable
CREATE TABLE "meters" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT,
    "key" TEXT NOT NULL,
    "name" VARCHAR(200) NOT NULL,
    "aggregation" TEXT NOT NULL,
    "property" TEXT,
    "unit" VARCHAR(50),
    "dimensions" TEXT[],
    "source" TEXT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "meters_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage_events" (
    "seller" TEXT NOT NULL,
    "id" VARCHAR(200) NOT NULL,
    "meter_id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "quantity" DECIMAL(50,12),
    "value" TEXT,
    "dimensions" TEXT NOT NULL,
    "voided_at" TIMESTAMPTZ(3),

    CONSTRAINT "usage_events_pkey" PRIMARY KEY ("seller","id")
);

-- CreateTable
CREATE TABLE "usage_deltas" (
    "id" BIGSERIAL NOT NULL,
    "meter_id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "dimensions" TEXT NOT NULL,
    "quantity" DECIMAL(50,12) NOT NULL,
    "last_at" TIMESTAMPTZ(3),
    "last_id" TEXT,

    CONSTRAINT "usage_deltas_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage_hours" (
    "meter_id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "dimensions" TEXT NOT NULL,
    "quantity" DECIMAL(50,12) NOT NULL,
    "last_at" TIMESTAMPTZ(3),
    "last_id" TEXT,

    CONSTRAINT "usage_hours_pkey" PRIMARY KEY ("meter_id","customer_id","hour","dimensions")
);

-- CreateTable
CREATE TABLE "usage_values" (
    "meter_id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "dimensions" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "usage_values_pkey" PRIMARY KEY ("meter_id","customer_id","hour","dimensions","value")
);

-- CreateTable
CREATE TABLE "forgotten_usage" (
    "customer_id" TEXT NOT NULL,

    CONSTRAINT "forgotten_usage_pkey" PRIMARY KEY ("customer_id")
);

-- CreateIndex
CREATE INDEX "meters_organization_id_id_idx" ON "meters"("organization_id", "id");

-- CreateIndex
CREATE INDEX "meters_created_by_id_idx" ON "meters"("created_by", "id");

-- CreateIndex
CREATE INDEX "meters_updated_at_id_idx" ON "meters"("updated_at", "id");

-- CreateIndex
CREATE INDEX "usage_events_meter_id_customer_id_at_idx" ON "usage_events"("meter_id", "customer_id", "at");

-- CreateIndex
CREATE INDEX "usage_events_at_idx" ON "usage_events" USING BRIN ("at");

-- CreateIndex
CREATE INDEX "usage_deltas_meter_id_customer_id_hour_idx" ON "usage_deltas"("meter_id", "customer_id", "hour");

-- CreateIndex
CREATE INDEX "usage_hours_meter_id_hour_idx" ON "usage_hours"("meter_id", "hour");

-- CreateIndex
CREATE INDEX "usage_hours_hour_idx" ON "usage_hours" USING BRIN ("hour");

-- CreateIndex
CREATE INDEX "usage_values_meter_id_hour_idx" ON "usage_values"("meter_id", "hour");

-- CreateIndex
CREATE INDEX "usage_values_hour_idx" ON "usage_values" USING BRIN ("hour");

-- A key belongs to one meter of a seller.
CREATE UNIQUE INDEX meters_key_idx ON meters (key, organization_id) NULLS NOT DISTINCT WHERE key <> '';
CREATE INDEX meters_operator_idx ON meters (id) WHERE organization_id IS NULL;
CREATE INDEX meters_metadata_idx ON meters USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
-- The meters that the platform feeds. Each count of usage reads them.
CREATE INDEX meters_sources_idx ON meters (source) WHERE source IS NOT NULL AND active;
ALTER TABLE meters ADD CONSTRAINT meters_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
ALTER TABLE meters ADD CONSTRAINT meters_aggregation
  CHECK (aggregation IN ('sum', 'count', 'max', 'last', 'unique'));
ALTER TABLE meters ADD CONSTRAINT meters_source CHECK (source IN ('requests', 'downloaded_bytes', 'answers',
  'prompt_tokens', 'completion_tokens', 'tokens', 'cost_micros'));
ALTER TABLE meters ADD CONSTRAINT meters_property
  CHECK ((property IS NULL) = (aggregation = 'count' OR source IS NOT NULL));
ALTER TABLE meters ADD CONSTRAINT meters_source_of_operator
  CHECK (source IS NULL OR organization_id IS NULL AND aggregation = 'sum');
ALTER TABLE usage_events ADD CONSTRAINT usage_events_quantity
  CHECK ((quantity IS NULL) = (value IS NOT NULL) AND quantity >= 0);
-- Its rows live for seconds.
ALTER TABLE usage_deltas SET (autovacuum_vacuum_scale_factor = 0.05);

-- The quotas that triggers count, a row each. `count-quota.sql`, which runs after this file, creates the
-- triggers.
--   source    the table whose rows count
--   owner     the user or organization that a row counts for, as an expression
--   amount    what the rows of an owner come to, as an aggregate
--   counted   which rows count, as a condition
--   changed   the columns whose change gives a row another owner, or changes whether it counts; or null
--   refunded  whether a deleted row frees its place
CREATE OR REPLACE FUNCTION all_quotas(OUT quota text, OUT source text, OUT owner text, OUT amount text,
  OUT counted text, OUT changed text, OUT refunded boolean)
RETURNS SETOF record
LANGUAGE sql
IMMUTABLE
AS $function$
  VALUES
    ('api_keys', 'api_keys', 'user_id', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
    ('projects', 'projects', 'coalesce(organization_id, owner_id)', 'count(*)', 'true',
      'owner_id, organization_id', true),
    ('members', 'members', 'created_by', 'count(*)', 'created_by IS NOT NULL', NULL, true),
    ('invitations', 'invitations', 'created_by', 'count(*)', 'status = ''pending''', 'status', true),
    ('webhook_endpoints', 'webhook_endpoints', 'user_id', 'count(*)', 'deleted_at IS NULL', 'deleted_at',
      true),
    ('files', 'files', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('file_links', 'file_links', 'created_by', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
    ('uploads', 'uploads', 'user_id', 'count(*)', 'file_id IS NULL', 'file_id', true),
    ('knowledge_bases', 'knowledge_bases', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('documents', 'documents', 'owner_id', 'count(*)', 'true', NULL, true),
    ('document_bytes', 'documents', 'owner_id', 'sum(bytes)', 'true', NULL, true),
    ('sessions', 'ai_sessions', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('messages', 'ai_messages', 'user_id', 'count(*)', 'true', NULL, true),
    ('pending_orders', 'orders', 'coalesce(owner_id, customer_id)', 'count(*)', 'status = ''pending''',
      'status', true),
    ('customers', 'customers', 'coalesce(organization_id, created_by)', 'count(*)',
      'deleted_at IS NULL AND coalesce(organization_id, created_by) IS NOT NULL', 'deleted_at', true),
    ('meters', 'meters', 'coalesce(organization_id, created_by)', 'count(*)',
      'coalesce(organization_id, created_by) IS NOT NULL', NULL, true),
    ('products', 'products', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('prices', 'prices', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('organizations', 'organizations', 'created_by', 'count(*)', 'true', NULL, false),
    ('organization_members', 'organization_members', 'created_by', 'count(*)', 'created_by IS NOT NULL',
      NULL, true),
    ('custom_roles', 'custom_roles', 'created_by', 'count(*)', 'true', NULL, true),
    ('service_accounts', 'service_accounts', 'account_id', 'count(*)', 'deleted_at IS NULL',
      'deleted_at, account_id', true)
$function$;

-- Counts what a user has of a limited resource, and refuses more than the limit.
-- Arguments of the trigger: `quota`, `owner`, `amount` and `counted` of `all_quotas()`.
CREATE OR REPLACE FUNCTION count_quota()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  changes refcursor;
  owner text;
  amount bigint;
  amounts text;
BEGIN
  -- The most frequent forms have statements whose plans are kept.
  CASE concat_ws(' ', TG_OP, TG_ARGV[1], TG_ARGV[2], TG_ARGV[3])
  WHEN 'INSERT owner_id count(*) true' THEN
    OPEN changes FOR SELECT owner_id, count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT user_id count(*) true' THEN
    OPEN changes FOR SELECT user_id, count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT coalesce(organization_id, owner_id) count(*) true' THEN
    OPEN changes FOR SELECT coalesce(organization_id, owner_id), count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT created_by count(*) created_by IS NOT NULL' THEN
    OPEN changes FOR
      SELECT created_by, count(*) FROM added WHERE created_by IS NOT NULL GROUP BY 1 ORDER BY 1;
  ELSE
    amounts := format('SELECT %s AS owner, (%s)::bigint AS amount FROM %%s WHERE %s GROUP BY 1',
      TG_ARGV[1], TG_ARGV[2], TG_ARGV[3]);
    IF TG_OP = 'INSERT' THEN
      OPEN changes FOR EXECUTE format(amounts, 'added') || ' ORDER BY 1';
    ELSIF TG_OP = 'DELETE' THEN
      OPEN changes FOR EXECUTE
        format('SELECT owner, -amount FROM (%s) r ORDER BY 1', format(amounts, 'removed'));
    ELSE
      OPEN changes FOR EXECUTE format(
        'SELECT owner, sum(amount)::bigint FROM (%s UNION ALL SELECT owner, -amount FROM (%s) old) moved
        GROUP BY 1 HAVING sum(amount) <> 0 ORDER BY 1',
        format(amounts, '(SELECT ($2).*) now'), format(amounts, '(SELECT ($1).*) before')
      ) USING OLD, NEW;
    END IF;
  END CASE;
  LOOP
    FETCH changes INTO owner, amount;
    EXIT WHEN NOT FOUND;
    -- A row that changes its owner, such as a project of a deleted user, is not refused. A transfer of a
    -- project is.
    PERFORM change_quota(TG_ARGV[0], owner, amount, CASE TG_OP
      WHEN 'INSERT' THEN true
      WHEN 'DELETE' THEN false
      ELSE amount > 0 AND current_setting('platform.transfer', true) = 'on'
    END);
  END LOOP;
  CLOSE changes;
  RETURN NULL;
END $function$;

DO $triggers$
DECLARE
  q record;
BEGIN
  FOR q IN
    SELECT *, NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = format('quota_%s_added', quota)) AS is_new,
      format('EXECUTE FUNCTION count_quota(%L, %L, %L, %L)', quota, owner, amount, counted) AS action
    FROM all_quotas()
  LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER INSERT ON %I
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT %s',
      'quota_' || q.quota || '_added', q.source, q.action);
    IF q.refunded THEN
      EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER DELETE ON %I
        REFERENCING OLD TABLE AS removed FOR EACH STATEMENT %s',
        'quota_' || q.quota || '_removed', q.source, q.action);
    END IF;
    IF q.changed IS NOT NULL THEN
      EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER UPDATE OF %s ON %I FOR EACH ROW %s',
        'quota_' || q.quota || '_moved', q.changed, q.source, q.action);
    END IF;
    -- Counts the rows that a new quota finds. Creating its triggers has locked the table against changes.
    IF q.is_new THEN
      EXECUTE format('INSERT INTO quota_changes (user_id, quota, change)
        SELECT coalesce(a.account_id, has.owner), %L, has.amount
        FROM (SELECT %s AS owner, %s AS amount FROM %I WHERE %s GROUP BY 1) has
        LEFT JOIN service_accounts a ON a.user_id = has.owner',
        q.quota, q.owner, q.amount, q.source, q.counted);
    END IF;
  END LOOP;
END $triggers$;

-- A deleted customer has no cards, is removed at the gateways, and has no way into the portal. A job deletes
-- the usage.
CREATE OR REPLACE FUNCTION forget_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM payment_methods WHERE customer_id = NEW.id;
  DELETE FROM gateway_customers WHERE customer_id = NEW.id;
  DELETE FROM portal_sessions WHERE customer_id = NEW.id;
  INSERT INTO forgotten_usage (customer_id) VALUES (NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER customers_forget AFTER UPDATE OF deleted_at ON customers
  FOR EACH ROW WHEN (new.deleted_at IS NOT NULL)
  EXECUTE FUNCTION forget_customer();

-- What a customer used of a meter from a time until another: what every price and entitlement by use counts.
-- It is exact also inside an hour, which the events of the hour say. An hour without events, such as one of a
-- meter that the platform feeds, counts as a whole where it begins. 0 without usage.
CREATE OR REPLACE FUNCTION meter_quantity(meter text, customer text, since timestamp with time zone,
  until timestamp with time zone)
RETURNS numeric
LANGUAGE plpgsql
STABLE
AS $function$
DECLARE
  kind text := (SELECT m.aggregation FROM meters m WHERE m.id = meter);
  -- The whole hours are those from `low` until `high`.
  low timestamptz := date_trunc('hour', since, 'UTC');
  high timestamptz := date_trunc('hour', until, 'UTC');
  -- The parts of hours are those from `since` until `head_end`, and from `tail_start` until `until`.
  head_end timestamptz := since;
  tail_start timestamptz := until;
  quantity numeric;
BEGIN
  IF since >= until THEN RETURN 0; END IF;
  IF low < since THEN
    low := low + interval '1 hour';
    head_end := least(low, until);
  END IF;
  IF low <= high AND high < until THEN
    IF EXISTS (SELECT FROM usage_events e WHERE e.meter_id = meter AND e.customer_id = customer
        AND e.at >= high AND e.at < high + interval '1 hour') THEN
      tail_start := high;
    ELSE
      high := high + interval '1 hour';
    END IF;
  END IF;
  IF kind = 'unique' THEN
    SELECT count(DISTINCT u.value) INTO quantity FROM (
      SELECT v.value FROM usage_values v
      WHERE v.meter_id = meter AND v.customer_id = customer AND v.hour >= low AND v.hour < high
      UNION ALL
      SELECT e.value FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= since AND e.at < head_end
        AND e.voided_at IS NULL
      UNION ALL
      SELECT e.value FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= tail_start AND e.at < until
        AND e.voided_at IS NULL
    ) u;
  ELSE
    SELECT CASE kind
      WHEN 'max' THEN max(u.quantity)
      WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
      ELSE sum(u.quantity)
    END INTO quantity FROM (
      SELECT h.quantity, h.last_at, h.last_id FROM usage_hours h
      WHERE h.meter_id = meter AND h.customer_id = customer AND h.hour >= low AND h.hour < high
      UNION ALL
      SELECT d.quantity, d.last_at, d.last_id FROM usage_deltas d
      WHERE d.meter_id = meter AND d.customer_id = customer AND d.hour >= low AND d.hour < high
      UNION ALL
      SELECT e.quantity, e.at, e.id FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= since AND e.at < head_end
        AND e.voided_at IS NULL
      UNION ALL
      SELECT e.quantity, e.at, e.id FROM usage_events e
      WHERE e.meter_id = meter AND e.customer_id = customer AND e.at >= tail_start AND e.at < until
        AND e.voided_at IS NULL
    ) u;
  END IF;
  RETURN trim_scale(coalesce(quantity, 0));
END $function$;

-- AddCheck
ALTER TABLE "meters" ADD CONSTRAINT "meters_aggregation_check"
  CHECK ("aggregation" IN ('sum', 'count', 'max', 'last', 'unique'));

-- AddCheck
ALTER TABLE "meters" ADD CONSTRAINT "meters_source_check"
  CHECK ("source" IN ('requests', 'downloaded_bytes', 'answers', 'prompt_tokens', 'completion_tokens', 'tokens',
    'cost_micros'));
