-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "UserStatus" AS ENUM ('active', 'disabled', 'deleted');

-- CreateEnum
CREATE TYPE "UserRole" AS ENUM ('user', 'admin');

-- CreateEnum
CREATE TYPE "ProjectStatus" AS ENUM ('active', 'archived', 'deleted');

-- CreateEnum
CREATE TYPE "MemberRole" AS ENUM ('owner', 'admin', 'editor', 'viewer');

-- CreateEnum
CREATE TYPE "InvitationStatus" AS ENUM ('pending', 'accepted', 'revoked');

-- CreateEnum
CREATE TYPE "Theme" AS ENUM ('system', 'light', 'dark');

-- CreateEnum
CREATE TYPE "ProfileVisibility" AS ENUM ('public', 'members', 'private');

-- CreateTable
CREATE TABLE "users" (
    "id" TEXT NOT NULL,
    "email" TEXT,
    "email_verified" BOOLEAN NOT NULL DEFAULT false,
    "name" TEXT NOT NULL,
    "bio" TEXT,
    "locale" TEXT NOT NULL DEFAULT 'en',
    "timezone" TEXT NOT NULL DEFAULT 'UTC',
    "avatar_url" TEXT,
    "status" "UserStatus" NOT NULL DEFAULT 'active',
    "role" "UserRole" NOT NULL DEFAULT 'user',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "settings" (
    "user_id" TEXT NOT NULL,
    "theme" "Theme" NOT NULL DEFAULT 'system',
    "language" TEXT NOT NULL DEFAULT 'en',
    "timezone" TEXT NOT NULL DEFAULT 'UTC',
    "notify_email" BOOLEAN NOT NULL DEFAULT true,
    "notify_in_app" BOOLEAN NOT NULL DEFAULT true,
    "profile_visibility" "ProfileVisibility" NOT NULL DEFAULT 'members',
    "ai_default_model" TEXT,
    "ai_store_history" BOOLEAN NOT NULL DEFAULT true,
    "default_project_id" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "start" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "scopes" TEXT[],
    "project_ids" TEXT[],
    "all_projects" BOOLEAN NOT NULL DEFAULT true,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "projects" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "status" "ProjectStatus" NOT NULL DEFAULT 'active',
    "category" TEXT,
    "owner_id" TEXT NOT NULL,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "member_count" INTEGER NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "archived_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "members" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" "MemberRole" NOT NULL,
    "added_by" TEXT,
    "project_status" "ProjectStatus" NOT NULL DEFAULT 'active',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "members_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "invitations" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" "MemberRole" NOT NULL,
    "status" "InvitationStatus" NOT NULL DEFAULT 'pending',
    "invited_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project_counts" (
    "user_id" TEXT NOT NULL,
    "status" "ProjectStatus" NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "project_counts_pkey" PRIMARY KEY ("user_id","status")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "owner_id" TEXT NOT NULL,
    "key_digest" BYTEA NOT NULL,
    "body_hash" BYTEA NOT NULL,
    "status" INTEGER NOT NULL,
    "answer" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("owner_id","key_digest")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "users_created_at_id_idx" ON "users"("created_at", "id");

-- CreateIndex
CREATE INDEX "settings_default_project_id_idx" ON "settings"("default_project_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_digest_key" ON "api_keys"("digest");

-- CreateIndex
CREATE INDEX "api_keys_user_id_created_at_id_idx" ON "api_keys"("user_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "projects_owner_id_idx" ON "projects"("owner_id");

-- CreateIndex
CREATE INDEX "members_user_id_project_status_project_id_idx" ON "members"("user_id", "project_status", "project_id");

-- CreateIndex
CREATE INDEX "members_project_id_created_at_id_idx" ON "members"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "members_added_by_idx" ON "members"("added_by");

-- CreateIndex
CREATE UNIQUE INDEX "members_project_id_user_id_key" ON "members"("project_id", "user_id");

-- CreateIndex
CREATE INDEX "invitations_project_id_created_at_id_idx" ON "invitations"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "invitations_email_idx" ON "invitations"("email");

-- CreateIndex
CREATE INDEX "invitations_invited_by_idx" ON "invitations"("invited_by");

-- CreateIndex
CREATE INDEX "idempotency_records_created_at_idx" ON "idempotency_records"("created_at");

-- AddForeignKey
ALTER TABLE "settings" ADD CONSTRAINT "settings_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settings" ADD CONSTRAINT "settings_default_project_id_fkey" FOREIGN KEY ("default_project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "projects" ADD CONSTRAINT "projects_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_added_by_fkey" FOREIGN KEY ("added_by") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_invited_by_fkey" FOREIGN KEY ("invited_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project_counts" ADD CONSTRAINT "project_counts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- What the Prisma schema cannot say.

-- The caller's list of projects, newest first: TypeIDs grow with time, so their order is the order of creation.
CREATE INDEX "members_visible_idx" ON "members"("user_id", "project_id") WHERE "project_status" <> 'deleted';
-- One open invitation for an address and a project.
CREATE UNIQUE INDEX "invitations_pending_key" ON "invitations"("project_id", "email") WHERE "status" = 'pending';
-- What the purge looks for.
CREATE INDEX "projects_deleted_at_idx" ON "projects"("deleted_at") WHERE "deleted_at" IS NOT NULL;

ALTER TABLE "users"
  ADD CONSTRAINT "users_email_lower" CHECK ("email" = lower("email")),
  ADD CONSTRAINT "users_email_until_deleted" CHECK (("email" IS NULL) = ("status" = 'deleted')),
  ADD CONSTRAINT "users_metadata_object" CHECK (jsonb_typeof("metadata") = 'object');
ALTER TABLE "projects"
  ADD CONSTRAINT "projects_name_not_blank" CHECK (btrim("name") <> ''),
  ADD CONSTRAINT "projects_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD CONSTRAINT "projects_deleted_at_status" CHECK (("deleted_at" IS NOT NULL) = ("status" = 'deleted')),
  ADD CONSTRAINT "projects_archived_at_status" CHECK (("archived_at" IS NOT NULL) OR ("status" <> 'archived')),
  ADD CONSTRAINT "projects_member_count" CHECK ("member_count" >= 0);
ALTER TABLE "invitations"
  ADD CONSTRAINT "invitations_email_lower" CHECK ("email" = lower("email"));
ALTER TABLE "api_keys"
  ADD CONSTRAINT "api_keys_digest_sha256" CHECK (octet_length("digest") = 32);

-- member_count and project_counts follow the members, whoever writes them. The counts are written in the order of
-- their key, so that two statements never wait for each other crosswise.
CREATE FUNCTION "count_members"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET member_count = p.member_count + d.n
      FROM (SELECT project_id, count(*)::int AS n FROM added GROUP BY project_id) d WHERE p.id = d.project_id;
    INSERT INTO project_counts AS c (user_id, status, count)
      SELECT user_id, project_status, count(*)::int FROM added GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (user_id, status) DO UPDATE SET count = c.count + excluded.count;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE projects p SET member_count = p.member_count - d.n
      FROM (SELECT project_id, count(*)::int AS n FROM removed GROUP BY project_id) d WHERE p.id = d.project_id;
    INSERT INTO project_counts AS c (user_id, status, count)
      SELECT user_id, project_status, -count(*)::int FROM removed GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (user_id, status) DO UPDATE SET count = c.count + excluded.count;
  ELSE
    INSERT INTO project_counts AS c (user_id, status, count)
      SELECT user_id, project_status, sum(n)::int FROM (
        SELECT user_id, project_status, 1 AS n FROM added
        UNION ALL SELECT user_id, project_status, -1 FROM removed
      ) d GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
      ON CONFLICT (user_id, status) DO UPDATE SET count = c.count + excluded.count;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "members_count_insert" AFTER INSERT ON "members"
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_members"();
CREATE TRIGGER "members_count_delete" AFTER DELETE ON "members"
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION "count_members"();
CREATE TRIGGER "members_count_update" AFTER UPDATE ON "members"
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION "count_members"();

-- members.project_status follows the project.
CREATE FUNCTION "spread_project_status"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE members SET project_status = NEW.status WHERE project_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER "projects_spread_status" AFTER UPDATE OF "status" ON "projects"
  FOR EACH ROW WHEN (OLD."status" IS DISTINCT FROM NEW."status") EXECUTE FUNCTION "spread_project_status"();

-- A project always has an owner. The row lock makes two removals that cross see each other.
CREATE FUNCTION "require_owner"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM projects WHERE id = OLD.project_id FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (SELECT 1 FROM members WHERE project_id = OLD.project_id AND role = 'owner') THEN
    RAISE EXCEPTION 'project % would have no owner', OLD.project_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'members';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "members_require_owner" AFTER UPDATE OF "role" OR DELETE ON "members"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD."role" = 'owner') EXECUTE FUNCTION "require_owner"();

-- Only the living become members. The lock waits for a deletion of the user under way, and sees how it ended.
CREATE FUNCTION "require_living_user"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM users WHERE id = NEW.user_id AND status <> 'deleted' FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % is deleted and can be no member', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'living_user', TABLE = 'members';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "members_require_living_user" BEFORE INSERT ON "members"
  FOR EACH ROW EXECUTE FUNCTION "require_living_user"();

-- Servers keep the keys they know in memory; whatever changes what a key may do is told to all of them at commit.
CREATE FUNCTION "tell_key_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('key_change', encode(OLD.digest, 'hex'));
  RETURN NULL;
END $$;
CREATE TRIGGER "api_keys_tell_change"
  AFTER UPDATE OF "scopes", "project_ids", "all_projects", "expires_at", "revoked_at" OR DELETE ON "api_keys"
  FOR EACH ROW EXECUTE FUNCTION "tell_key_change"();

CREATE FUNCTION "tell_owner_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('key_change', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER "users_tell_change" AFTER UPDATE OF "status", "role" ON "users"
  FOR EACH ROW WHEN (OLD."status" IS DISTINCT FROM NEW."status" OR OLD."role" IS DISTINCT FROM NEW."role")
  EXECUTE FUNCTION "tell_owner_change"();
