-- CreateTable
CREATE TABLE "upload_links" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "path" TEXT NOT NULL DEFAULT '',
    "title" TEXT,
    "max_bytes" BIGINT,
    "content_types" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "max_files" INTEGER,
    "file_count" INTEGER NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "upload_links_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "upload_links_digest_key" ON "upload_links"("digest");

-- CreateIndex
CREATE INDEX "upload_links_workspace_id_id_idx" ON "upload_links"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "upload_links_owner_id_created_at_id_idx" ON "upload_links"("owner_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "upload_links_project_id_idx" ON "upload_links"("project_id");

-- CreateIndex
CREATE INDEX "upload_links_expires_at_idx" ON "upload_links"("expires_at");

-- AddForeignKey
ALTER TABLE "upload_links" ADD CONSTRAINT "upload_links_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "upload_links" ADD CONSTRAINT "upload_links_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE upload_links
  ADD CONSTRAINT upload_links_max_files CHECK (file_count <= max_files),
  ADD CONSTRAINT upload_links_metadata_object CHECK (jsonb_typeof(metadata) = 'object');

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
    ('upload_links', 'upload_links', 'owner_id', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
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
    ('features', 'features', 'coalesce(organization_id, created_by)', 'count(*)',
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

-- `updated_at` is the time of the last change, and increases with every change. A new row has the time of its
-- creation. A change counts if the statement sets one of the columns that the trigger lists. The argument
-- `payments` selects the payment clock.
CREATE OR REPLACE FUNCTION set_updated_at()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.updated_at := NEW.created_at;
  ELSIF NEW IS DISTINCT FROM OLD THEN
    NEW.updated_at := greatest(
      CASE WHEN TG_ARGV[0] = 'payments' THEN payments_now() ELSE now() END,
      OLD.updated_at + interval '1 millisecond'
    );
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER ai_messages_set_updated_at BEFORE INSERT OR UPDATE OF content, status,
    finish_reason, prompt_tokens, completion_tokens, citations, error, metadata ON ai_messages
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER api_keys_set_updated_at BEFORE INSERT OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at, replaced_by, metadata ON api_keys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER checkouts_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status, url,
    expires_at, metadata ON checkouts
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER file_links_set_updated_at BEFORE INSERT OR UPDATE OF max_downloads,
    expires_at, revoked_at, metadata ON file_links
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER invitations_set_updated_at BEFORE INSERT OR UPDATE OF email, role, status,
    expires_at, metadata ON invitations
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER members_set_updated_at BEFORE INSERT OR UPDATE OF role, own_role,
    custom_role_id, organization_role, metadata ON members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER passkeys_set_updated_at BEFORE INSERT OR UPDATE OF name ON passkeys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER prices_set_updated_at BEFORE INSERT OR UPDATE OF active, metadata ON prices
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER subscriptions_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status,
    quantity, price_id, period_start, period_end, cancel_at_period_end, canceled_at, ended_at,
    latest_order_id, metadata ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER upload_links_set_updated_at BEFORE INSERT OR UPDATE OF expires_at, revoked_at,
    metadata ON upload_links
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER uploads_set_first_updated_at BEFORE INSERT ON uploads
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER uploads_set_updated_at BEFORE UPDATE OF received, file_id ON uploads
  FOR EACH ROW
  WHEN (((old.received IS DISTINCT FROM new.received) OR (old.file_id IS DISTINCT FROM new.file_id)))
  EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER webhook_deliveries_set_updated_at BEFORE INSERT OR UPDATE OF status, attempts,
    next_attempt_at ON webhook_deliveries
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER webhook_endpoints_set_updated_at BEFORE INSERT OR UPDATE OF url, description,
    event_types, enabled, disabled_reason, previous_expires_at, metadata ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER organizations_set_updated_at BEFORE INSERT OR UPDATE OF name, description,
    metadata ON organizations
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER organization_members_set_updated_at BEFORE INSERT OR UPDATE OF role, status,
    expires_at ON organization_members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER custom_roles_set_updated_at BEFORE INSERT OR UPDATE OF name, description,
    projects, storage, ai, payments ON custom_roles
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER service_accounts_set_updated_at BEFORE INSERT OR UPDATE OF metadata, deleted_at
    ON service_accounts
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
