-- Organizations that sell. Null: the operator of the platform.

-- AlterTable
ALTER TABLE "checkouts" ADD COLUMN     "seller_organization_id" TEXT;

-- AlterTable
ALTER TABLE "disputes" ADD COLUMN     "seller_organization_id" TEXT;

-- AlterTable
ALTER TABLE "orders" ADD COLUMN     "seller_organization_id" TEXT;

-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "seller_organization_id" TEXT;

-- AlterTable
ALTER TABLE "prices" ADD COLUMN     "organization_id" TEXT;

-- AlterTable
ALTER TABLE "products" ADD COLUMN     "organization_id" TEXT;

-- AlterTable
ALTER TABLE "refunds" ADD COLUMN     "seller_organization_id" TEXT;

-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN     "seller_organization_id" TEXT;

-- CreateIndex
CREATE INDEX "prices_organization_id_id_idx" ON "prices"("organization_id", "id");

-- CreateIndex
CREATE INDEX "products_organization_id_id_idx" ON "products"("organization_id", "id");

-- The lists of an organization, and those of the operator.
CREATE INDEX products_operator_idx ON products (id) WHERE organization_id IS NULL;
CREATE INDEX prices_operator_idx ON prices (id) WHERE organization_id IS NULL;
CREATE INDEX customers_operator_idx ON customers (id) WHERE organization_id IS NULL AND deleted_at IS NULL;
CREATE INDEX orders_seller_idx ON orders (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX orders_operator_idx ON orders (id) WHERE seller_organization_id IS NULL;
CREATE INDEX checkouts_seller_idx ON checkouts (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX checkouts_operator_idx ON checkouts (id) WHERE seller_organization_id IS NULL;
CREATE INDEX subscriptions_seller_idx ON subscriptions (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX subscriptions_operator_idx ON subscriptions (id) WHERE seller_organization_id IS NULL;
CREATE INDEX payments_seller_idx ON payments (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX payments_operator_idx ON payments (id) WHERE seller_organization_id IS NULL;
CREATE INDEX refunds_seller_idx ON refunds (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX refunds_operator_idx ON refunds (id) WHERE seller_organization_id IS NULL;
CREATE INDEX disputes_seller_idx ON disputes (seller_organization_id, id)
  WHERE seller_organization_id IS NOT NULL;
CREATE INDEX disputes_operator_idx ON disputes (id) WHERE seller_organization_id IS NULL;

-- The roles with which users read events, by project or organization. What an organization sells is its
-- admins' alone; its service accounts do not sell.
CREATE OR REPLACE VIEW event_readers AS
  SELECT project_id, user_id, role, storage_role, ai_role, payments_role FROM members
  UNION ALL
  SELECT organization_id, user_id, r.role, NULL, NULL, CASE WHEN o.role <> 'member' AND NOT EXISTS (
      SELECT FROM service_accounts s WHERE s.user_id = o.user_id) THEN r.role END
  FROM organization_members o
    CROSS JOIN LATERAL (SELECT (CASE o.role WHEN 'member' THEN 'viewer' ELSE o.role::text END)::"MemberRole"
      AS role) r
  WHERE o.status = 'active';

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
    ('products', 'products', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('prices', 'prices', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('organizations', 'organizations', 'created_by', 'count(*)', 'true', NULL, false),
    ('organization_members', 'organization_members', 'created_by', 'count(*)', 'created_by IS NOT NULL',
      NULL, true),
    ('custom_roles', 'custom_roles', 'created_by', 'count(*)', 'true', NULL, true),
    ('service_accounts', 'service_accounts', 'account_id', 'count(*)', 'deleted_at IS NULL',
      'deleted_at, account_id', true)
$function$;

-- A payment has the project, the owner, the seller and the subscription of its order, so that its lists need
-- no join.
CREATE OR REPLACE FUNCTION copy_order_to_payment()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  SELECT project_id, owner_id, seller_organization_id, subscription_id
  INTO NEW.project_id, NEW.owner_id, NEW.seller_organization_id, NEW.subscription_id
  FROM orders WHERE id = NEW.order_id;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER payments_copy_order BEFORE INSERT ON payments
  FOR EACH ROW EXECUTE FUNCTION copy_order_to_payment();

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

-- Counts orders, checkout sessions, subscriptions, payments, refunds and disputes of the operator by status.
-- Each change is a row of its own, so that concurrent payments do not wait for each other.
CREATE OR REPLACE FUNCTION count_sales()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO sales_counts (kind, status, count)
  SELECT TG_TABLE_NAME, status, sum(n)
  FROM (VALUES (OLD.status::text, -1), (NEW.status::text, 1)) changed (status, n)
  WHERE status IS NOT NULL AND coalesce(NEW.seller_organization_id, OLD.seller_organization_id) IS NULL
  GROUP BY status HAVING sum(n) <> 0;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_count AFTER INSERT OR DELETE OR UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER disputes_count AFTER INSERT OR DELETE OR UPDATE OF status ON disputes
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER orders_count AFTER INSERT OR DELETE OR UPDATE OF status ON orders
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER payments_count AFTER INSERT OR DELETE OR UPDATE OF status ON payments
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER refunds_count AFTER INSERT OR DELETE OR UPDATE OF status ON refunds
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER subscriptions_count AFTER INSERT OR DELETE OR UPDATE OF status ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION count_sales();

-- Amount, currency, owner and seller of an order never change.
CREATE OR REPLACE FUNCTION require_unchanged_order()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.credit_amount, OLD.total_amount, OLD.currency, OLD.owner_id, OLD.subscription_id,
    OLD.seller_organization_id, OLD.period, OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.credit_amount, NEW.total_amount, NEW.currency, NEW.owner_id,
      NEW.subscription_id, NEW.seller_organization_id, NEW.period, NEW.created_at) THEN
    RAISE EXCEPTION 'the amount of an order never changes' USING ERRCODE = 'check_violation', CONSTRAINT =
      'orders_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_fixed BEFORE UPDATE ON orders
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_order();

-- Each sale has a customer: a renewal that of the subscription, a checkout session that of the order, and
-- another sale that of its owner. A customer without a user is inserted as the owner, and has no owner then.
-- The seller of the customer sells. The customer of a user is the operator's.
CREATE OR REPLACE FUNCTION set_customer()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.owner_id LIKE 'cus%' THEN
    NEW.customer_id := NEW.owner_id;
    NEW.owner_id := NULL;
  ELSIF TG_TABLE_NAME = 'checkouts' THEN
    SELECT o.customer_id INTO NEW.customer_id FROM orders o WHERE o.id = NEW.order_id;
  ELSIF NEW.customer_id IS NULL AND TG_TABLE_NAME = 'orders' THEN
    SELECT s.customer_id INTO NEW.customer_id FROM subscriptions s WHERE s.id = NEW.subscription_id;
  END IF;
  IF NEW.customer_id IS NULL THEN
    SELECT c.id INTO NEW.customer_id FROM customer_of_user(NEW.owner_id) c;
  END IF;
  IF NEW.owner_id IS NULL THEN
    SELECT c.organization_id INTO NEW.seller_organization_id FROM customers c WHERE c.id = NEW.customer_id;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_set_customer BEFORE INSERT ON checkouts
  FOR EACH ROW EXECUTE FUNCTION set_customer();

CREATE OR REPLACE TRIGGER orders_set_customer BEFORE INSERT ON orders
  FOR EACH ROW EXECUTE FUNCTION set_customer();

CREATE OR REPLACE TRIGGER subscriptions_set_customer BEFORE INSERT ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_customer();
