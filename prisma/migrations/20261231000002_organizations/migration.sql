-- Organizations, custom roles and service accounts.
CREATE TYPE "OrganizationRole" AS ENUM ('owner', 'admin', 'member');

CREATE TYPE "OrganizationMemberStatus" AS ENUM ('invited', 'active');

ALTER TABLE "members" ADD COLUMN "ai_role" "MemberRole",
    ADD COLUMN "custom_role_id" TEXT,
    ADD COLUMN "organization_role" "MemberRole",
    ADD COLUMN "own_role" "MemberRole",
    ADD COLUMN "payments_role" "MemberRole",
    ADD COLUMN "storage_role" "MemberRole";

ALTER TABLE "projects" ADD COLUMN "organization_id" TEXT;

CREATE TABLE "organizations" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organizations_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "organization_members" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "user_id" TEXT,
    "email" TEXT,
    "role" "OrganizationRole" NOT NULL,
    "status" "OrganizationMemberStatus" NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "organization_members_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "custom_roles" (
    "id" TEXT NOT NULL,
    "organization_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "projects" "MemberRole" NOT NULL,
    "storage" "MemberRole",
    "ai" "MemberRole",
    "payments" "MemberRole",
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "custom_roles_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "service_accounts" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "organization_id" TEXT,
    "project_id" TEXT,
    "account_id" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "service_accounts_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "organizations_created_by_idx" ON "organizations"("created_by");
CREATE INDEX "organization_members_organization_id_created_at_id_idx"
    ON "organization_members"("organization_id", "created_at", "id");
CREATE INDEX "organization_members_user_id_status_organization_id_idx"
    ON "organization_members"("user_id", "status", "organization_id");
CREATE INDEX "organization_members_email_idx" ON "organization_members"("email");
CREATE INDEX "organization_members_created_by_idx" ON "organization_members"("created_by");
CREATE UNIQUE INDEX "organization_members_organization_id_user_id_key"
    ON "organization_members"("organization_id", "user_id");
CREATE UNIQUE INDEX "organization_members_organization_id_email_key"
    ON "organization_members"("organization_id", "email");
CREATE INDEX "custom_roles_organization_id_created_at_id_idx"
    ON "custom_roles"("organization_id", "created_at", "id");
CREATE INDEX "custom_roles_created_by_idx" ON "custom_roles"("created_by");
CREATE UNIQUE INDEX "custom_roles_organization_id_name_key" ON "custom_roles"("organization_id", "name");
CREATE UNIQUE INDEX "service_accounts_user_id_key" ON "service_accounts"("user_id");
CREATE INDEX "service_accounts_organization_id_created_at_id_idx"
    ON "service_accounts"("organization_id", "created_at", "id");
CREATE INDEX "service_accounts_project_id_created_at_id_idx"
    ON "service_accounts"("project_id", "created_at", "id");
CREATE INDEX "service_accounts_account_id_idx" ON "service_accounts"("account_id");
CREATE INDEX "service_accounts_created_by_idx" ON "service_accounts"("created_by");
CREATE INDEX "members_custom_role_id_idx" ON "members"("custom_role_id");
CREATE INDEX "projects_organization_id_idx" ON "projects"("organization_id");

ALTER TABLE "organizations" ADD CONSTRAINT "organizations_created_by_fkey"
    FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_created_by_fkey"
    FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

ALTER TABLE "custom_roles" ADD CONSTRAINT "custom_roles_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "custom_roles" ADD CONSTRAINT "custom_roles_created_by_fkey"
    FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_user_id_fkey"
    FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE SET NULL ON UPDATE CASCADE;

ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_project_id_fkey"
    FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_created_by_fkey"
    FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_fkey"
    FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE SET NULL ON UPDATE CASCADE NOT VALID;

ALTER TABLE "members" ADD CONSTRAINT "members_custom_role_id_fkey"
    FOREIGN KEY ("custom_role_id") REFERENCES "custom_roles"("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- The role of a member for what the scope reads or writes, such as `storage:read`. A member with a custom
-- role has a role of its own for files, for AI and for payments.
CREATE OR REPLACE FUNCTION role_by_scope(
  scope text, projects "MemberRole", storage "MemberRole", ai "MemberRole", payments "MemberRole"
)
RETURNS "MemberRole"
LANGUAGE sql
IMMUTABLE
AS $function$
  SELECT CASE split_part(scope, ':', 1)
    WHEN 'storage' THEN storage WHEN 'ai' THEN ai WHEN 'payments' THEN payments ELSE projects END
$function$;

-- Sets what a member may do in each area: the more powerful of the member's own role, or custom role, and of
-- the role that the member has in the organization of the project. `least`, because the most powerful role is
-- the first of the type.
CREATE OR REPLACE FUNCTION set_member_roles()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  custom custom_roles%ROWTYPE;
BEGIN
  -- Servers of an older version set only `role`.
  IF TG_OP = 'INSERT' THEN
    IF NEW.own_role IS NULL AND NEW.organization_role IS NULL THEN
      NEW.own_role := NEW.role;
    END IF;
  ELSIF NEW.role <> OLD.role AND NEW.own_role IS NOT DISTINCT FROM OLD.own_role
    AND NEW.organization_role IS NOT DISTINCT FROM OLD.organization_role THEN
    NEW.own_role := NEW.role;
    NEW.custom_role_id := NULL;
  END IF;
  IF NEW.own_role = 'owner' AND EXISTS (SELECT FROM service_accounts WHERE user_id = NEW.user_id) THEN
    RAISE EXCEPTION 'service account % cannot own a project', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'service_account', TABLE = 'members';
  END IF;
  NEW.role := least(NEW.own_role, NEW.organization_role);
  NEW.storage_role := NEW.role;
  NEW.ai_role := NEW.role;
  NEW.payments_role := NEW.role;
  IF NEW.custom_role_id IS NOT NULL THEN
    SELECT * INTO STRICT custom FROM custom_roles WHERE id = NEW.custom_role_id;
    NEW.own_role := custom.projects;
    NEW.role := least(custom.projects, NEW.organization_role);
    NEW.storage_role := least(custom.storage, NEW.organization_role);
    NEW.ai_role := least(custom.ai, NEW.organization_role);
    NEW.payments_role := least(custom.payments, NEW.organization_role);
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER members_set_roles BEFORE INSERT OR UPDATE OF role, own_role, custom_role_id,
    organization_role, project_id ON members
  FOR EACH ROW EXECUTE FUNCTION set_member_roles();

-- Gives the members with a custom role what the changed role allows.
CREATE OR REPLACE FUNCTION copy_custom_role()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE members SET custom_role_id = NEW.id WHERE custom_role_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER custom_roles_copy AFTER UPDATE OF projects, storage, ai, payments ON custom_roles
  FOR EACH ROW EXECUTE FUNCTION copy_custom_role();

-- An organization always has an owner. Checked at commit.
CREATE OR REPLACE FUNCTION require_organization_owner()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM organizations WHERE id = OLD.organization_id FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (
    SELECT 1 FROM organization_members
    WHERE organization_id = OLD.organization_id AND role = 'owner' AND status = 'active'
  ) THEN
    RAISE EXCEPTION 'organization % would have no owner', OLD.organization_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'organization_members';
  END IF;
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER organization_members_require_owner
  AFTER DELETE OR UPDATE OF role ON organization_members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"OrganizationRole")) EXECUTE FUNCTION require_organization_owner();

-- A deleted user cannot become a member.
CREATE OR REPLACE FUNCTION require_existing_user()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM users WHERE id = NEW.user_id AND status <> 'deleted' FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % is deleted and can be no member', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'living_user', TABLE = TG_TABLE_NAME;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER members_require_existing_user BEFORE INSERT ON members
  FOR EACH ROW EXECUTE FUNCTION require_existing_user();

CREATE OR REPLACE TRIGGER organization_members_require_existing_user
  BEFORE INSERT OR UPDATE OF user_id ON organization_members
  FOR EACH ROW WHEN ((new.user_id IS NOT NULL)) EXECUTE FUNCTION require_existing_user();

DROP TRIGGER members_require_owner ON members;
CREATE CONSTRAINT TRIGGER members_require_owner AFTER DELETE OR UPDATE OF role, own_role, custom_role_id,
    organization_role ON members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"MemberRole")) EXECUTE FUNCTION require_owner();

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

-- The quotas of organizations and service accounts.
-- Whose limits a user uses: the user's own, or those of what the service account belongs to.
CREATE OR REPLACE FUNCTION account_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((SELECT s.account_id FROM service_accounts s WHERE s.user_id = account_of.user_id), user_id)
$function$;

-- The users who share the limits of a user: the service accounts of its account, and the account itself.
CREATE OR REPLACE FUNCTION users_of_account(user_id text)
RETURNS SETOF text
LANGUAGE sql
STABLE
AS $function$
  SELECT account_of(user_id)
  UNION ALL
  SELECT s.user_id FROM service_accounts s WHERE s.account_id = account_of(users_of_account.user_id)
$function$;

-- Changes what a user has of a limited resource; what a service account has counts for the organization or
-- the user that it belongs to. Each change is a row of its own, so that the writes of a user do not wait for
-- each other; a job adds the changes up. Near the limit they do wait: the transaction locks the quota of the
-- user until it ends, so two transactions cannot both take the last free place.
--
-- Far from the limit a transaction takes one place with a shared lock. There are at most as many such places
-- at once as connections, which the distance to the limit allows for. The total alone, which is seconds old,
-- says whether to try; with the lock the changes count too.
-- @throws check_violation with the constraint `quota_<name>` when `checked` and more than the limit
CREATE OR REPLACE FUNCTION change_quota(name text, owner text, change bigint, checked boolean)
RETURNS void
LANGUAGE plpgsql
AS $function$
DECLARE
  account text := account_of(owner);
  key bigint := hashtextextended('quota ' || name || ' ' || account, 0);
  places bigint := current_setting('max_connections')::bigint;
  most bigint;
BEGIN
  IF checked THEN
    SELECT value INTO most FROM quota_limits l WHERE l.quota = name;
  END IF;
  IF most IS NULL THEN
    INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
    RETURN;
  END IF;
  IF change = 1 AND most > 2 * places AND coalesce(current_setting('platform.quota_place', true), '') = ''
    AND coalesce((SELECT used FROM quota_totals t WHERE t.user_id = account AND t.quota = name), 0)
      + 2 * places < most THEN
    PERFORM pg_advisory_xact_lock_shared(key);
    PERFORM set_config('platform.quota_place', name, true);
    IF quota_used(name, account) + places < most THEN
      INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
      RETURN;
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(key);
  IF quota_used(name, account) + change > most THEN
    RAISE EXCEPTION 'quota % is used up', name
      USING ERRCODE = 'check_violation', CONSTRAINT = 'quota_' || name;
  END IF;
  INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
END $function$;

-- Counts what a user has of a limited resource, and refuses more than the limit.
-- Arguments of the trigger: the quota, whose it is as an expression, the amount as an aggregate, and which
-- rows count.
CREATE OR REPLACE FUNCTION count_quota()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  changed record;
  amounts text;
BEGIN
  -- The most frequent forms have statements whose plans are kept.
  IF TG_OP = 'INSERT' AND TG_ARGV[1] = 'owner_id' AND TG_ARGV[2] = 'count(*)' AND TG_ARGV[3] = 'true' THEN
    FOR changed IN SELECT owner_id AS owner, count(*) AS amount FROM added GROUP BY 1 ORDER BY 1 LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount, true);
    END LOOP;
    RETURN NULL;
  END IF;
  IF TG_OP = 'INSERT' AND TG_ARGV[0] = 'projects' THEN
    FOR changed IN
      SELECT coalesce(organization_id, owner_id) AS owner, count(*) AS amount FROM added GROUP BY 1 ORDER BY 1
    LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount, true);
    END LOOP;
    RETURN NULL;
  END IF;
  amounts := format('SELECT %s AS owner, %s AS amount FROM %%s WHERE %s GROUP BY 1', TG_ARGV[1], TG_ARGV[2],
    TG_ARGV[3]);
  IF TG_OP = 'INSERT' THEN
    FOR changed IN EXECUTE format(amounts, 'added') || ' ORDER BY 1' LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount::bigint, true);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR changed IN EXECUTE format(amounts, 'removed') || ' ORDER BY 1' LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, -changed.amount::bigint, false);
    END LOOP;
  ELSE
    -- A row that changes its owner, such as a project of a deleted user, is not refused. A transfer of a
    -- project is.
    FOR changed IN EXECUTE format(
      'SELECT owner, sum(amount) AS amount FROM (%s UNION ALL SELECT owner, -amount FROM (%s) old) moved
      GROUP BY 1 HAVING sum(amount) <> 0 ORDER BY 1',
      format(amounts, '(SELECT ($2).*) now'), format(amounts, '(SELECT ($1).*) before')
    ) USING OLD, NEW LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount::bigint,
        changed.amount > 0 AND current_setting('platform.transfer', true) = 'on');
    END LOOP;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER quota_projects_added AFTER INSERT ON projects
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_projects_removed AFTER DELETE ON projects
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_projects_moved AFTER UPDATE OF owner_id, organization_id ON projects
  FOR EACH ROW EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_organizations_added AFTER INSERT ON organizations
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organizations', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_organization_members_added AFTER INSERT ON organization_members
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organization_members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_organization_members_removed AFTER DELETE ON organization_members
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organization_members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_custom_roles_added AFTER INSERT ON custom_roles
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('custom_roles', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_custom_roles_removed AFTER DELETE ON custom_roles
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('custom_roles', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_service_accounts_added AFTER INSERT ON service_accounts
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_service_accounts_removed AFTER DELETE ON service_accounts
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_service_accounts_moved
  AFTER UPDATE OF deleted_at, account_id ON service_accounts
  FOR EACH ROW EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');

-- The service accounts of a project use the limits of its organization, or of its main owner. When that
-- changes, what they have moves with them, by what the triggers of `count_quota` count, and all servers are
-- notified.
CREATE OR REPLACE FUNCTION move_service_accounts()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  target text := coalesce(NEW.organization_id, NEW.owner_id);
  account record;
  counted record;
  amount bigint;
BEGIN
  FOR account IN
    SELECT id, user_id, account_id FROM service_accounts
    WHERE project_id = NEW.id AND deleted_at IS NULL AND account_id <> target ORDER BY id
  LOOP
    FOR counted IN
      SELECT c.relname AS name, string_to_array(encode(t.tgargs, 'escape'), '\000') AS args
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE t.tgname LIKE 'quota\_%\_added' AND c.relname <> 'service_accounts'
    LOOP
      EXECUTE format('SELECT coalesce(%s, 0) FROM %I WHERE %s = $1 AND %s', counted.args[3], counted.name,
        counted.args[2], counted.args[4]) INTO amount USING account.user_id;
      IF amount <> 0 THEN
        INSERT INTO quota_changes (user_id, quota, change)
        VALUES (account.account_id, counted.args[1], -amount), (target, counted.args[1], amount);
      END IF;
    END LOOP;
    UPDATE service_accounts SET account_id = target WHERE id = account.id;
    PERFORM pg_notify('key_change', account.user_id);
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER projects_move_service_accounts AFTER UPDATE OF owner_id, organization_id ON projects
  FOR EACH ROW WHEN ((coalesce(old.organization_id, old.owner_id)
    IS DISTINCT FROM coalesce(new.organization_id, new.owner_id)))
  EXECUTE FUNCTION move_service_accounts();

-- The members of projects and organizations, as readers of their events.
CREATE VIEW "event_readers" AS
  SELECT project_id, user_id, role, storage_role, ai_role, payments_role FROM members
  UNION ALL
  SELECT organization_id, user_id, r.role, NULL, NULL, NULL FROM organization_members o
    CROSS JOIN LATERAL (SELECT (CASE o.role WHEN 'member' THEN 'viewer' ELSE o.role::text END)::"MemberRole"
      AS role) r
  WHERE o.status = 'active';
