-- The database, as of the day of this migration: what Prisma writes from schema.prisma, what Prisma cannot
-- express, and the functions and triggers of prisma/sql/functions.

-- All are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS unaccent;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- pgvector, if the server has it and the role may create it. Without it, SQL compares the vectors of fewer
-- chunks.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
    CREATE EXTENSION IF NOT EXISTS vector;
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'pgvector is installed, but may not be created by %', current_user;
END $$;

-- Written by Prisma from schema.prisma, except PARTITION BY and three indexes that it cannot express.

-- CreateEnum
CREATE TYPE "UserStatus" AS ENUM ('active', 'disabled', 'deleted');

-- CreateEnum
CREATE TYPE "UserRole" AS ENUM ('user', 'admin');

-- CreateEnum
CREATE TYPE "Theme" AS ENUM ('system', 'light', 'dark');

-- CreateEnum
CREATE TYPE "OrganizationRole" AS ENUM ('owner', 'admin', 'member');

-- CreateEnum
CREATE TYPE "OrganizationMemberStatus" AS ENUM ('invited', 'active');

-- CreateEnum
CREATE TYPE "ProjectStatus" AS ENUM ('active', 'archived', 'deleted');

-- CreateEnum
CREATE TYPE "MemberRole" AS ENUM ('owner', 'admin', 'editor', 'viewer');

-- CreateEnum
CREATE TYPE "InvitationStatus" AS ENUM ('pending', 'accepted', 'revoked', 'declined');

-- CreateEnum
CREATE TYPE "WebhookDeliveryStatus" AS ENUM ('pending', 'succeeded', 'failed');

-- CreateEnum
CREATE TYPE "FileVisibility" AS ENUM ('private', 'public');

-- CreateEnum
CREATE TYPE "QuarantineReason" AS ENUM ('deleted', 'unknown');

-- CreateEnum
CREATE TYPE "DocumentStatus" AS ENUM ('queued', 'processing', 'ready', 'failed');

-- CreateEnum
CREATE TYPE "SessionStatus" AS ENUM ('active', 'archived');

-- CreateEnum
CREATE TYPE "MessageRole" AS ENUM ('system', 'user', 'assistant');

-- CreateEnum
CREATE TYPE "MessageStatus" AS ENUM ('in_progress', 'completed', 'incomplete', 'canceled', 'failed');

-- CreateEnum
CREATE TYPE "PriceInterval" AS ENUM ('day', 'week', 'month', 'year');

-- CreateEnum
CREATE TYPE "OrderStatus" AS ENUM ('pending', 'paid', 'partially_refunded', 'refunded', 'canceled');

-- CreateEnum
CREATE TYPE "CheckoutMode" AS ENUM ('payment', 'subscription');

-- CreateEnum
CREATE TYPE "CheckoutStatus" AS ENUM ('open', 'complete', 'expired');

-- CreateEnum
CREATE TYPE "PaymentStatus" AS ENUM ('requires_confirmation', 'processing', 'succeeded', 'failed', 'returning', 'returned');

-- CreateEnum
CREATE TYPE "RefundStatus" AS ENUM ('pending', 'succeeded', 'failed');

-- CreateEnum
CREATE TYPE "SubscriptionStatus" AS ENUM ('incomplete', 'active', 'past_due', 'canceled');

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
CREATE TABLE "user_passwords" (
    "user_id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "user_passwords_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "user_totp" (
    "user_id" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "confirmed_at" TIMESTAMPTZ(3),
    "last_step" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "user_totp_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "recovery_codes" (
    "user_id" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("user_id","digest")
);

-- CreateTable
CREATE TABLE "sign_ins" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "methods" TEXT[],
    "ip" TEXT,
    "network" TEXT NOT NULL,
    "device" TEXT,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "in_cookie" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_ins_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "identities" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "email" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "identities_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "passkeys" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "credential" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[],
    "synced" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "passkey_challenges" (
    "digest" BYTEA NOT NULL,
    "user_id" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "passkey_challenges_pkey" PRIMARY KEY ("digest")
);

-- CreateTable
CREATE TABLE "one_time_tokens" (
    "digest" BYTEA NOT NULL,
    "purpose" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "user_id" TEXT,
    "name" TEXT,
    "provider" TEXT,
    "subject" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "one_time_tokens_pkey" PRIMARY KEY ("digest")
);

-- CreateTable
CREATE TABLE "sign_in_failures" (
    "account" BYTEA NOT NULL,
    "network" TEXT NOT NULL,
    "failures" INTEGER NOT NULL,
    "failed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_failures_pkey" PRIMARY KEY ("account","network")
);

-- CreateTable
CREATE TABLE "mails" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "recipient" TEXT NOT NULL,
    "user_id" TEXT,
    "secret" TEXT,
    "resource_id" TEXT,
    "subject" TEXT,
    "content" TEXT,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "dedupe_key" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "sent_at" TIMESTAMPTZ(3),

    CONSTRAINT "mails_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "quota_totals" (
    "user_id" TEXT NOT NULL,
    "quota" TEXT NOT NULL,
    "used" BIGINT NOT NULL,

    CONSTRAINT "quota_totals_pkey" PRIMARY KEY ("user_id","quota")
);

-- CreateTable
CREATE TABLE "quota_changes" (
    "id" BIGSERIAL NOT NULL,
    "user_id" TEXT NOT NULL,
    "quota" TEXT NOT NULL,
    "change" BIGINT NOT NULL,

    CONSTRAINT "quota_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "quota_limits" (
    "quota" TEXT NOT NULL,
    "value" BIGINT NOT NULL,

    CONSTRAINT "quota_limits_pkey" PRIMARY KEY ("quota")
);

-- CreateTable
CREATE TABLE "settings" (
    "user_id" TEXT NOT NULL,
    "theme" "Theme" NOT NULL DEFAULT 'system',
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
    "allowed_addresses" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "last_used_at" TIMESTAMPTZ(3),
    "last_used_ip" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),
    "replaced_by" TEXT,
    "created_by_key" TEXT,
    "created_by" TEXT,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_requests" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "error_code" TEXT,
    "duration_ms" INTEGER NOT NULL,
    "requests" INTEGER NOT NULL DEFAULT 1,
    "request_id" TEXT NOT NULL,
    "client_request_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "sequence" BIGINT NOT NULL,
    "id" TEXT NOT NULL,
    "user_id" TEXT,
    "credential_id" TEXT,
    "operation" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "ip" TEXT NOT NULL,
    "project_id" TEXT,
    "resource_id" TEXT,
    "request_id" TEXT NOT NULL,
    "signature" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("sequence")
);

-- CreateTable
CREATE TABLE "audit_chain" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "sequence" BIGINT NOT NULL,
    "signature" TEXT NOT NULL,
    "first_sequence" BIGINT NOT NULL,
    "first_signature" TEXT NOT NULL,

    CONSTRAINT "audit_chain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage_days" (
    "user_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "requests" BIGINT NOT NULL DEFAULT 0,
    "errors" BIGINT NOT NULL DEFAULT 0,
    "downloaded_bytes" BIGINT NOT NULL DEFAULT 0,
    "storage_bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "usage_days_pkey" PRIMARY KEY ("user_id","day")
);

-- CreateTable
CREATE TABLE "organizations" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "limits_of" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organizations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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
    "accepts_limits" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "organization_members_pkey" PRIMARY KEY ("id")
);

-- CreateTable
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

-- CreateTable
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
    "organization_id" TEXT,
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
    "storage_role" "MemberRole",
    "ai_role" "MemberRole",
    "payments_role" "MemberRole",
    "own_role" "MemberRole",
    "custom_role_id" TEXT,
    "organization_role" "MemberRole",
    "created_by" TEXT,
    "project_status" "ProjectStatus" NOT NULL DEFAULT 'active',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "members_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "invitations" (
    "id" TEXT NOT NULL,
    "project_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "user_id" TEXT,
    "role" "MemberRole" NOT NULL,
    "status" "InvitationStatus" NOT NULL DEFAULT 'pending',
    "created_by" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project_count_totals" (
    "user_id" TEXT NOT NULL,
    "status" "ProjectStatus" NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "project_count_totals_pkey" PRIMARY KEY ("user_id","status")
);

-- CreateTable
CREATE TABLE "project_count_changes" (
    "id" BIGSERIAL NOT NULL,
    "user_id" TEXT NOT NULL,
    "status" "ProjectStatus" NOT NULL,
    "change" INTEGER NOT NULL,

    CONSTRAINT "project_count_changes_pkey" PRIMARY KEY ("id")
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

-- CreateTable
CREATE TABLE "jobs" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "queue" TEXT NOT NULL,
    "lane" TEXT NOT NULL DEFAULT 'main',
    "group_id" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "due_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "fetches" INTEGER NOT NULL DEFAULT 0,
    "fetched_at" TIMESTAMPTZ(6),

    CONSTRAINT "jobs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "events" (
    "id" TEXT NOT NULL,
    "position" BIGSERIAL NOT NULL,
    "sequence" BIGINT,
    "type" TEXT NOT NULL,
    "project_id" TEXT,
    "user_id" TEXT,
    "scope" TEXT NOT NULL,
    "role" "MemberRole",
    "request_id" TEXT,
    "client_request_id" TEXT,
    "actor" JSONB,
    "data" JSON NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "event_log" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "last_sequence" BIGINT NOT NULL DEFAULT 0,
    "removed_through" BIGINT NOT NULL DEFAULT 0,
    "cursor_key" BYTEA NOT NULL DEFAULT uuid_send(gen_random_uuid()),

    CONSTRAINT "event_log_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT,
    "event_types" TEXT[],
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "scopes" TEXT[],
    "project_ids" TEXT[],
    "all_projects" BOOLEAN NOT NULL DEFAULT true,
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_expires_at" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "schema_requirements" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "oldest_server" TEXT NOT NULL,

    CONSTRAINT "schema_requirements_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "secret_keys" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "key_id" TEXT NOT NULL,

    CONSTRAINT "secret_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "status" "WebhookDeliveryStatus" NOT NULL DEFAULT 'pending',
    "tries" INTEGER NOT NULL DEFAULT 0,
    "attempts" JSONB NOT NULL DEFAULT '[]',
    "request" JSONB,
    "next_attempt_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
) PARTITION BY RANGE ("id");

-- CreateTable
CREATE TABLE "files" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL DEFAULT '',
    "content_type" TEXT NOT NULL,
    "declared_content_type" TEXT,
    "bytes" BIGINT NOT NULL,
    "sha256" TEXT NOT NULL,
    "visibility" "FileVisibility" NOT NULL DEFAULT 'private',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "download_count" BIGINT NOT NULL DEFAULT 0,
    "blob_key" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "files_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "storage_usage" (
    "workspace_id" TEXT NOT NULL,
    "files" BIGINT NOT NULL DEFAULT 0,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "storage_usage_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "storage_reservations" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "held_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "storage_reservations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "database_identity" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "database_id" TEXT NOT NULL,
    "sweep_id" TEXT,
    "sweep_began_at" TIMESTAMPTZ(3),
    "swept_at" TIMESTAMPTZ(3),
    "quarantine_restarted_at" TIMESTAMPTZ(3),

    CONSTRAINT "database_identity_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "restored_copy" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "backup_id" TEXT NOT NULL,
    "backup_created_at" TIMESTAMPTZ(3) NOT NULL,
    "restored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "confirmed_at" TIMESTAMPTZ(3),

    CONSTRAINT "restored_copy_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "quarantined_blobs" (
    "key" TEXT NOT NULL,
    "reason" "QuarantineReason" NOT NULL,
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sweep_id" TEXT,

    CONSTRAINT "quarantined_blobs_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "file_links" (
    "id" TEXT NOT NULL,
    "file_id" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "max_downloads" INTEGER,
    "download_count" INTEGER NOT NULL DEFAULT 0,
    "created_by" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "file_links_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "uploads" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "user_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL DEFAULT '',
    "declared_content_type" TEXT,
    "visibility" "FileVisibility" NOT NULL DEFAULT 'private',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "file_expires_at" TIMESTAMPTZ(3),
    "sha256" TEXT,
    "raw_metadata" TEXT NOT NULL,
    "length" BIGINT NOT NULL,
    "received" BIGINT NOT NULL DEFAULT 0,
    "file_id" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "temp_name" TEXT,
    "multipart" JSONB,
    "holder" TEXT,
    "held_until" TIMESTAMPTZ(3),
    "lease_requested_at" TIMESTAMPTZ(3),

    CONSTRAINT "uploads_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "avatars" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "variants" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "avatars_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "knowledge_bases" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "max_tokens" INTEGER NOT NULL,
    "overlap_tokens" INTEGER NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_bases_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "documents" (
    "id" TEXT NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "owner_id" TEXT NOT NULL DEFAULT '',
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "file_id" TEXT,
    "name" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "status" "DocumentStatus" NOT NULL DEFAULT 'queued',
    "error" JSONB,
    "sha256" TEXT NOT NULL,
    "source" TEXT,
    "wanted" INTEGER NOT NULL DEFAULT 1,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "tokens" INTEGER NOT NULL DEFAULT 0,
    "chunk_count" INTEGER NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "indexed_at" TIMESTAMPTZ(3),

    CONSTRAINT "documents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "document_counts" (
    "knowledge_base_id" TEXT NOT NULL,
    "status" "DocumentStatus" NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "document_counts_pkey" PRIMARY KEY ("knowledge_base_id","status")
);

-- CreateTable
CREATE TABLE "document_texts" (
    "document_id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "pages" JSONB,

    CONSTRAINT "document_texts_pkey" PRIMARY KEY ("document_id")
);

-- CreateTable
CREATE TABLE "chunks" (
    "id" TEXT NOT NULL,
    "document_id" TEXT NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "start_index" INTEGER NOT NULL,
    "end_index" INTEGER NOT NULL,
    "page" INTEGER,
    "heading" TEXT,
    "tokens" INTEGER NOT NULL,
    "text" TEXT NOT NULL,
    "language" TEXT NOT NULL DEFAULT 'simple',
    "terms" BIGINT[],
    "term_counts" SMALLINT[],
    "embedding" REAL[],

    CONSTRAINT "chunks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "lexemes" (
    "id" BIGSERIAL NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "lexeme" TEXT NOT NULL,
    "chunks" INTEGER NOT NULL,

    CONSTRAINT "lexemes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "removed_chunks" (
    "id" BIGSERIAL NOT NULL,
    "knowledge_base_id" TEXT NOT NULL,
    "language" TEXT NOT NULL,
    "tokens" INTEGER NOT NULL,
    "terms" BIGINT[],

    CONSTRAINT "removed_chunks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "chunk_counts" (
    "knowledge_base_id" TEXT NOT NULL,
    "language" TEXT NOT NULL,
    "chunks" INTEGER NOT NULL,
    "tokens" BIGINT NOT NULL,

    CONSTRAINT "chunk_counts_pkey" PRIMARY KEY ("knowledge_base_id","language")
);

-- CreateTable
CREATE TABLE "ai_sessions" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "title" TEXT,
    "model" TEXT,
    "system_prompt" TEXT,
    "knowledge_base_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "status" "SessionStatus" NOT NULL DEFAULT 'active',
    "message_count" INTEGER NOT NULL DEFAULT 0,
    "last_message_at" TIMESTAMPTZ(3),
    "prompt_tokens" BIGINT NOT NULL DEFAULT 0,
    "completion_tokens" BIGINT NOT NULL DEFAULT 0,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ai_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ai_messages" (
    "id" TEXT NOT NULL,
    "session_id" TEXT,
    "user_id" TEXT NOT NULL,
    "api_key_id" TEXT,
    "role" "MessageRole" NOT NULL,
    "content" TEXT NOT NULL DEFAULT '',
    "status" "MessageStatus" NOT NULL DEFAULT 'completed',
    "model" TEXT,
    "finish_reason" TEXT,
    "prompt_tokens" INTEGER NOT NULL DEFAULT 0,
    "completion_tokens" INTEGER NOT NULL DEFAULT 0,
    "reserved_tokens" INTEGER NOT NULL DEFAULT 0,
    "citations" JSONB NOT NULL DEFAULT '[]',
    "searched" JSONB,
    "error" JSONB,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "workspace_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "position" INTEGER NOT NULL DEFAULT 0,
    "key_digest" BYTEA,
    "body_hash" BYTEA,
    "heartbeat_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ai_messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ai_usage" (
    "user_id" TEXT,
    "api_key_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "limits_of" TEXT NOT NULL DEFAULT '',
    "requests" INTEGER NOT NULL DEFAULT 0,
    "prompt_tokens" BIGINT NOT NULL DEFAULT 0,
    "completion_tokens" BIGINT NOT NULL DEFAULT 0,
    "cost_micros" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "ai_usage_pkey" PRIMARY KEY ("api_key_id","day","limits_of")
);

-- CreateTable
CREATE TABLE "products" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "products_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "prices" (
    "id" TEXT NOT NULL,
    "product_id" TEXT NOT NULL,
    "unit_amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "interval" "PriceInterval",
    "interval_count" INTEGER,
    "active" BOOLEAN NOT NULL DEFAULT true,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" TEXT NOT NULL,
    "number" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "status" "OrderStatus" NOT NULL DEFAULT 'pending',
    "currency" TEXT NOT NULL,
    "total_amount" BIGINT NOT NULL,
    "refunded_amount" BIGINT NOT NULL DEFAULT 0,
    "refunding_amount" BIGINT NOT NULL DEFAULT 0,
    "checkout_id" TEXT,
    "subscription_id" TEXT,
    "period" INTEGER,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "paid_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "order_items" (
    "order_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "price_id" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "unit_amount" BIGINT NOT NULL,
    "amount" BIGINT NOT NULL,

    CONSTRAINT "order_items_pkey" PRIMARY KEY ("order_id","position")
);

-- CreateTable
CREATE TABLE "checkouts" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "mode" "CheckoutMode" NOT NULL,
    "status" "CheckoutStatus" NOT NULL DEFAULT 'open',
    "order_id" TEXT NOT NULL,
    "owns_order" BOOLEAN NOT NULL,
    "subscription_id" TEXT,
    "total_amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "success_url" TEXT NOT NULL,
    "cancel_url" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "gateway_url" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "checkouts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payments" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "checkout_id" TEXT,
    "status" "PaymentStatus" NOT NULL,
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "card" JSONB,
    "failure_code" TEXT,
    "due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refunds" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "payment_id" TEXT NOT NULL,
    "status" "RefundStatus" NOT NULL DEFAULT 'pending',
    "amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "reason" TEXT,
    "gateway_reference" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscriptions" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "status" "SubscriptionStatus" NOT NULL DEFAULT 'incomplete',
    "price_id" TEXT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "anchor_at" TIMESTAMPTZ(3),
    "period" INTEGER NOT NULL DEFAULT 0,
    "period_start" TIMESTAMPTZ(3),
    "period_end" TIMESTAMPTZ(3),
    "cancel_at_period_end" BOOLEAN NOT NULL DEFAULT false,
    "canceled_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "latest_order_id" TEXT,
    "gateway" TEXT NOT NULL,
    "gateway_reference" TEXT,
    "synced_at" TIMESTAMPTZ(3),
    "sync_pending" BOOLEAN NOT NULL DEFAULT false,
    "card" JSONB,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3),
    "abandoned" BOOLEAN NOT NULL DEFAULT false,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "gateway_events" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "gateway_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sales_counts" (
    "id" BIGSERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "sales_counts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment_clock" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "offset" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "payment_clock_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "users_created_at_id_idx" ON "users"("created_at", "id");

-- CreateIndex
CREATE INDEX "sign_ins_user_id_id_idx" ON "sign_ins"("user_id", "id");

-- CreateIndex
CREATE INDEX "sign_ins_expires_at_idx" ON "sign_ins"("expires_at");

-- CreateIndex
CREATE INDEX "identities_user_id_id_idx" ON "identities"("user_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "identities_provider_subject_key" ON "identities"("provider", "subject");

-- CreateIndex
CREATE UNIQUE INDEX "passkeys_credential_key" ON "passkeys"("credential");

-- CreateIndex
CREATE INDEX "passkeys_user_id_id_idx" ON "passkeys"("user_id", "id");

-- CreateIndex
CREATE INDEX "passkey_challenges_user_id_idx" ON "passkey_challenges"("user_id");

-- CreateIndex
CREATE INDEX "passkey_challenges_expires_at_idx" ON "passkey_challenges"("expires_at");

-- CreateIndex
CREATE INDEX "one_time_tokens_expires_at_idx" ON "one_time_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "one_time_tokens_email_idx" ON "one_time_tokens"("email");

-- CreateIndex
CREATE INDEX "one_time_tokens_user_id_idx" ON "one_time_tokens"("user_id");

-- CreateIndex
CREATE INDEX "sign_in_failures_failed_at_idx" ON "sign_in_failures"("failed_at");

-- CreateIndex
CREATE UNIQUE INDEX "mails_dedupe_key_key" ON "mails"("dedupe_key");

-- CreateIndex
CREATE INDEX "mails_recipient_kind_created_at_idx" ON "mails"("recipient", "kind", "created_at");

-- CreateIndex
CREATE INDEX "mails_user_id_idx" ON "mails"("user_id");

-- CreateIndex
CREATE INDEX "mails_created_at_idx" ON "mails"("created_at");

-- CreateIndex
CREATE INDEX "quota_changes_user_id_quota_idx" ON "quota_changes"("user_id", "quota");

-- CreateIndex
CREATE INDEX "settings_default_project_id_idx" ON "settings"("default_project_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_digest_key" ON "api_keys"("digest");

-- CreateIndex
CREATE INDEX "api_keys_user_id_created_at_id_idx" ON "api_keys"("user_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "api_keys_replaced_by_idx" ON "api_keys"("replaced_by");

-- CreateIndex
CREATE INDEX "api_keys_created_by_key_idx" ON "api_keys"("created_by_key");

-- CreateIndex
CREATE INDEX "api_keys_created_by_idx" ON "api_keys"("created_by");

-- CreateIndex
CREATE INDEX "api_requests_user_id_id_idx" ON "api_requests"("user_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "audit_entries_id_key" ON "audit_entries"("id");

-- CreateIndex
CREATE INDEX "audit_entries_user_id_id_idx" ON "audit_entries"("user_id", "id");

-- CreateIndex
CREATE INDEX "usage_days_day_idx" ON "usage_days"("day");

-- CreateIndex
CREATE INDEX "organizations_created_by_idx" ON "organizations"("created_by");

-- CreateIndex
CREATE INDEX "organizations_limits_of_idx" ON "organizations"("limits_of");

-- CreateIndex
CREATE INDEX "organization_members_organization_id_created_at_id_idx" ON "organization_members"("organization_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "organization_members_user_id_status_organization_id_idx" ON "organization_members"("user_id", "status", "organization_id");

-- CreateIndex
CREATE INDEX "organization_members_email_idx" ON "organization_members"("email");

-- CreateIndex
CREATE INDEX "organization_members_created_by_idx" ON "organization_members"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "organization_members_organization_id_user_id_key" ON "organization_members"("organization_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "organization_members_organization_id_email_key" ON "organization_members"("organization_id", "email");

-- CreateIndex
CREATE INDEX "custom_roles_organization_id_created_at_id_idx" ON "custom_roles"("organization_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "custom_roles_created_by_idx" ON "custom_roles"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "custom_roles_organization_id_name_key" ON "custom_roles"("organization_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "service_accounts_user_id_key" ON "service_accounts"("user_id");

-- CreateIndex
CREATE INDEX "service_accounts_organization_id_created_at_id_idx" ON "service_accounts"("organization_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "service_accounts_project_id_created_at_id_idx" ON "service_accounts"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "service_accounts_account_id_idx" ON "service_accounts"("account_id");

-- CreateIndex
CREATE INDEX "service_accounts_created_by_idx" ON "service_accounts"("created_by");

-- CreateIndex
CREATE INDEX "projects_owner_id_idx" ON "projects"("owner_id");

-- CreateIndex
CREATE INDEX "projects_organization_id_idx" ON "projects"("organization_id");

-- CreateIndex
CREATE INDEX "members_user_id_project_status_project_id_idx" ON "members"("user_id", "project_status", "project_id");

-- CreateIndex
CREATE INDEX "members_project_id_created_at_id_idx" ON "members"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "members_created_by_idx" ON "members"("created_by");

-- CreateIndex
CREATE INDEX "members_custom_role_id_idx" ON "members"("custom_role_id");

-- CreateIndex
CREATE UNIQUE INDEX "members_project_id_user_id_key" ON "members"("project_id", "user_id");

-- CreateIndex
CREATE INDEX "invitations_project_id_created_at_id_idx" ON "invitations"("project_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "invitations_email_idx" ON "invitations"("email");

-- CreateIndex
CREATE INDEX "invitations_user_id_idx" ON "invitations"("user_id");

-- CreateIndex
CREATE INDEX "invitations_created_by_idx" ON "invitations"("created_by");

-- CreateIndex
CREATE INDEX "project_count_changes_user_id_status_idx" ON "project_count_changes"("user_id", "status");

-- CreateIndex
CREATE INDEX "idempotency_records_created_at_idx" ON "idempotency_records"("created_at");

-- CreateIndex
CREATE INDEX "jobs_queue_lane_due_at_idx" ON "jobs"("queue", "lane", "due_at");

-- CreateIndex
CREATE INDEX "webhook_endpoints_user_id_created_at_id_idx" ON "webhook_endpoints"("user_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_endpoint_id_created_at_id_idx" ON "webhook_deliveries"("endpoint_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_event_id_idx" ON "webhook_deliveries"("event_id");

-- CreateIndex
CREATE UNIQUE INDEX "files_blob_key_key" ON "files"("blob_key");

-- CreateIndex
CREATE INDEX "files_workspace_id_id_idx" ON "files"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "files_workspace_id_bytes_id_idx" ON "files"("workspace_id", "bytes", "id");

-- CreateIndex
CREATE INDEX "files_tags_idx" ON "files" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "files_project_id_idx" ON "files"("project_id");

-- CreateIndex
CREATE INDEX "files_owner_id_idx" ON "files"("owner_id");

-- CreateIndex
CREATE INDEX "files_updated_at_idx" ON "files"("workspace_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "storage_reservations_workspace_id_idx" ON "storage_reservations"("workspace_id");

-- CreateIndex
CREATE UNIQUE INDEX "file_links_digest_key" ON "file_links"("digest");

-- CreateIndex
CREATE INDEX "file_links_file_id_created_at_id_idx" ON "file_links"("file_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "file_links_created_by_idx" ON "file_links"("created_by");

-- CreateIndex
CREATE UNIQUE INDEX "uploads_file_id_key" ON "uploads"("file_id");

-- CreateIndex
CREATE INDEX "uploads_workspace_id_idx" ON "uploads"("workspace_id");

-- CreateIndex
CREATE INDEX "uploads_project_id_idx" ON "uploads"("project_id");

-- CreateIndex
CREATE INDEX "uploads_user_id_idx" ON "uploads"("user_id");

-- CreateIndex
CREATE INDEX "uploads_expires_at_idx" ON "uploads"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "avatars_user_id_key" ON "avatars"("user_id");

-- CreateIndex
CREATE INDEX "knowledge_bases_workspace_id_id_idx" ON "knowledge_bases"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "knowledge_bases_project_id_idx" ON "knowledge_bases"("project_id");

-- CreateIndex
CREATE INDEX "knowledge_bases_owner_id_idx" ON "knowledge_bases"("owner_id");

-- CreateIndex
CREATE INDEX "knowledge_bases_updated_at_idx" ON "knowledge_bases"("workspace_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "documents_knowledge_base_id_id_idx" ON "documents"("knowledge_base_id", "id");

-- CreateIndex
CREATE INDEX "documents_file_id_idx" ON "documents"("file_id");

-- CreateIndex
CREATE INDEX "documents_updated_at_idx" ON "documents"("knowledge_base_id", "updated_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "documents_knowledge_base_id_sha256_key" ON "documents"("knowledge_base_id", "sha256");

-- CreateIndex
CREATE INDEX "chunks_document_id_position_idx" ON "chunks"("document_id", "position");

-- CreateIndex
CREATE UNIQUE INDEX "lexemes_knowledge_base_id_lexeme_key" ON "lexemes"("knowledge_base_id", "lexeme");

-- CreateIndex
CREATE INDEX "removed_chunks_knowledge_base_id_id_idx" ON "removed_chunks"("knowledge_base_id", "id");

-- CreateIndex
CREATE INDEX "ai_sessions_workspace_id_id_idx" ON "ai_sessions"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "ai_sessions_workspace_id_updated_at_id_idx" ON "ai_sessions"("workspace_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "ai_sessions_project_id_idx" ON "ai_sessions"("project_id");

-- CreateIndex
CREATE INDEX "ai_sessions_owner_id_idx" ON "ai_sessions"("owner_id");

-- CreateIndex
CREATE INDEX "ai_messages_session_id_position_idx" ON "ai_messages"("session_id", "position");

-- CreateIndex
CREATE INDEX "ai_messages_user_id_idx" ON "ai_messages"("user_id");

-- CreateIndex
CREATE INDEX "ai_usage_day_idx" ON "ai_usage"("day");

-- CreateIndex
CREATE INDEX "ai_usage_user_id_day_idx" ON "ai_usage"("user_id", "day");

-- CreateIndex
CREATE INDEX "ai_usage_limits_of_day_idx" ON "ai_usage"("limits_of", "day");

-- CreateIndex
CREATE INDEX "products_updated_at_idx" ON "products"("updated_at", "id");

-- CreateIndex
CREATE INDEX "prices_product_id_id_idx" ON "prices"("product_id", "id");

-- CreateIndex
CREATE INDEX "prices_unit_amount_id_idx" ON "prices"("unit_amount", "id");

-- CreateIndex
CREATE INDEX "prices_updated_at_idx" ON "prices"("updated_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "orders_number_key" ON "orders"("number");

-- CreateIndex
CREATE INDEX "orders_workspace_id_id_idx" ON "orders"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "orders_workspace_id_total_amount_id_idx" ON "orders"("workspace_id", "total_amount", "id");

-- CreateIndex
CREATE INDEX "orders_project_id_idx" ON "orders"("project_id");

-- CreateIndex
CREATE INDEX "orders_owner_id_id_idx" ON "orders"("owner_id", "id");

-- CreateIndex
CREATE INDEX "orders_status_id_idx" ON "orders"("status", "id");

-- CreateIndex
CREATE INDEX "orders_total_amount_id_idx" ON "orders"("total_amount", "id");

-- CreateIndex
CREATE INDEX "orders_updated_at_idx" ON "orders"("workspace_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "orders_all_updated_at_idx" ON "orders"("updated_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "orders_subscription_id_period_key" ON "orders"("subscription_id", "period");

-- CreateIndex
CREATE INDEX "order_items_price_id_idx" ON "order_items"("price_id");

-- CreateIndex
CREATE UNIQUE INDEX "checkouts_gateway_reference_key" ON "checkouts"("gateway_reference");

-- CreateIndex
CREATE INDEX "checkouts_order_id_idx" ON "checkouts"("order_id");

-- CreateIndex
CREATE INDEX "checkouts_subscription_id_idx" ON "checkouts"("subscription_id");

-- CreateIndex
CREATE INDEX "checkouts_project_id_idx" ON "checkouts"("project_id");

-- CreateIndex
CREATE INDEX "checkouts_owner_id_id_idx" ON "checkouts"("owner_id", "id");

-- CreateIndex
CREATE INDEX "checkouts_status_id_idx" ON "checkouts"("status", "id");

-- CreateIndex
CREATE INDEX "checkouts_expires_at_id_idx" ON "checkouts"("expires_at", "id");

-- CreateIndex
CREATE INDEX "checkouts_updated_at_idx" ON "checkouts"("updated_at", "id");

-- CreateIndex
CREATE INDEX "payments_order_id_id_idx" ON "payments"("order_id", "id");

-- CreateIndex
CREATE INDEX "payments_checkout_id_id_idx" ON "payments"("checkout_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "payments_gateway_gateway_reference_key" ON "payments"("gateway", "gateway_reference");

-- CreateIndex
CREATE UNIQUE INDEX "refunds_gateway_reference_key" ON "refunds"("gateway_reference");

-- CreateIndex
CREATE INDEX "refunds_order_id_id_idx" ON "refunds"("order_id", "id");

-- CreateIndex
CREATE INDEX "refunds_payment_id_idx" ON "refunds"("payment_id");

-- CreateIndex
CREATE INDEX "refunds_project_id_idx" ON "refunds"("project_id");

-- CreateIndex
CREATE INDEX "refunds_owner_id_id_idx" ON "refunds"("owner_id", "id");

-- CreateIndex
CREATE INDEX "refunds_status_id_idx" ON "refunds"("status", "id");

-- CreateIndex
CREATE INDEX "refunds_amount_id_idx" ON "refunds"("amount", "id");

-- CreateIndex
CREATE INDEX "refunds_updated_at_idx" ON "refunds"("updated_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_gateway_reference_key" ON "subscriptions"("gateway_reference");

-- CreateIndex
CREATE INDEX "subscriptions_workspace_id_id_idx" ON "subscriptions"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "subscriptions_project_id_idx" ON "subscriptions"("project_id");

-- CreateIndex
CREATE INDEX "subscriptions_owner_id_id_idx" ON "subscriptions"("owner_id", "id");

-- CreateIndex
CREATE INDEX "subscriptions_status_id_idx" ON "subscriptions"("status", "id");

-- CreateIndex
CREATE INDEX "subscriptions_price_id_idx" ON "subscriptions"("price_id");

-- CreateIndex
CREATE INDEX "subscriptions_updated_at_idx" ON "subscriptions"("updated_at", "id");

-- CreateIndex
CREATE INDEX "gateway_events_received_at_idx" ON "gateway_events"("received_at");

-- CreateIndex
CREATE INDEX "sales_counts_kind_status_idx" ON "sales_counts"("kind", "status");

-- AddForeignKey
ALTER TABLE "user_passwords" ADD CONSTRAINT "user_passwords_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_totp" ADD CONSTRAINT "user_totp_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sign_ins" ADD CONSTRAINT "sign_ins_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "passkey_challenges" ADD CONSTRAINT "passkey_challenges_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settings" ADD CONSTRAINT "settings_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "settings" ADD CONSTRAINT "settings_default_project_id_fkey" FOREIGN KEY ("default_project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organizations" ADD CONSTRAINT "organizations_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "organization_members" ADD CONSTRAINT "organization_members_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "custom_roles" ADD CONSTRAINT "custom_roles_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "custom_roles" ADD CONSTRAINT "custom_roles_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "service_accounts" ADD CONSTRAINT "service_accounts_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "projects" ADD CONSTRAINT "projects_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "projects" ADD CONSTRAINT "projects_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "members" ADD CONSTRAINT "members_custom_role_id_fkey" FOREIGN KEY ("custom_role_id") REFERENCES "custom_roles"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project_count_totals" ADD CONSTRAINT "project_count_totals_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_links" ADD CONSTRAINT "file_links_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_links" ADD CONSTRAINT "file_links_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "avatars" ADD CONSTRAINT "avatars_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "knowledge_bases" ADD CONSTRAINT "knowledge_bases_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "knowledge_bases" ADD CONSTRAINT "knowledge_bases_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "documents" ADD CONSTRAINT "documents_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "documents" ADD CONSTRAINT "documents_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_counts" ADD CONSTRAINT "document_counts_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_texts" ADD CONSTRAINT "document_texts_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chunks" ADD CONSTRAINT "chunks_document_id_fkey" FOREIGN KEY ("document_id") REFERENCES "documents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chunk_counts" ADD CONSTRAINT "chunk_counts_knowledge_base_id_fkey" FOREIGN KEY ("knowledge_base_id") REFERENCES "knowledge_bases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_sessions" ADD CONSTRAINT "ai_sessions_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_messages" ADD CONSTRAINT "ai_messages_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "ai_sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ai_messages" ADD CONSTRAINT "ai_messages_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "prices" ADD CONSTRAINT "prices_product_id_fkey" FOREIGN KEY ("product_id") REFERENCES "products"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_price_id_fkey" FOREIGN KEY ("price_id") REFERENCES "prices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_checkout_id_fkey" FOREIGN KEY ("checkout_id") REFERENCES "checkouts"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_payment_id_fkey" FOREIGN KEY ("payment_id") REFERENCES "payments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_price_id_fkey" FOREIGN KEY ("price_id") REFERENCES "prices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma cannot express.

ALTER TABLE ai_messages
  ALTER COLUMN workspace_ids SET NOT NULL,
  ADD CONSTRAINT ai_messages_heartbeat CHECK ((status = 'in_progress') = (heartbeat_at IS NOT NULL));
CREATE INDEX ai_messages_unstored_idx ON ai_messages (created_at) WHERE session_id IS NULL;
CREATE INDEX ai_messages_written_idx ON ai_messages (api_key_id) WHERE status = 'in_progress';
CREATE UNIQUE INDEX ai_messages_keyed_idx ON ai_messages (user_id, key_digest) WHERE key_digest IS NOT NULL;
CREATE UNIQUE INDEX ai_messages_one_answer_idx ON ai_messages (session_id) WHERE status = 'in_progress';

ALTER TABLE ai_sessions
  ALTER COLUMN knowledge_base_ids SET NOT NULL,
  ADD CONSTRAINT ai_sessions_workspace CHECK (workspace_id = coalesce(project_id, owner_id));
CREATE INDEX ai_sessions_metadata_idx ON ai_sessions
  USING gin (workspace_id, metadata jsonb_path_ops) WHERE metadata <> '{}';

ALTER TABLE api_keys
  ALTER COLUMN allowed_addresses SET NOT NULL,
  ALTER COLUMN project_ids SET NOT NULL,
  ALTER COLUMN scopes SET NOT NULL,
  ADD CONSTRAINT api_keys_digest_sha256 CHECK (octet_length(digest) = 32),
  ADD CONSTRAINT api_keys_metadata_object CHECK (jsonb_typeof(metadata) = 'object');

ALTER TABLE checkouts
  ADD CONSTRAINT checkouts_mode CHECK ((mode = 'subscription') = (subscription_id IS NOT NULL));
CREATE INDEX checkouts_expiring_idx ON checkouts (expires_at)
  WHERE status = 'open' AND gateway_reference IS NULL;
CREATE INDEX checkouts_metadata_idx ON checkouts USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX checkouts_workspace_idx ON checkouts (coalesce(project_id, owner_id), id);
CREATE UNIQUE INDEX checkouts_open_idx ON checkouts (order_id) WHERE status = 'open';

ALTER TABLE chunks
  ALTER COLUMN embedding SET STORAGE EXTERNAL,
  ALTER COLUMN term_counts SET NOT NULL,
  ALTER COLUMN term_counts SET STORAGE MAIN,
  ALTER COLUMN terms SET NOT NULL,
  ALTER COLUMN terms SET STORAGE MAIN,
  ADD CONSTRAINT chunks_range CHECK (start_index < end_index),
  ADD CONSTRAINT chunks_terms CHECK (cardinality(terms) = cardinality(term_counts));
CREATE INDEX chunks_embedded_idx ON chunks (knowledge_base_id) WHERE embedding IS NOT NULL;
CREATE INDEX chunks_terms_idx ON chunks USING gin (terms) WITH (gin_pending_list_limit = 1024);

ALTER TABLE database_identity
  ADD CONSTRAINT database_identity_single CHECK (id = 1);

CREATE INDEX document_counts_queued_idx ON document_counts (knowledge_base_id)
  WHERE status = 'queued' AND count > 0;

ALTER TABLE documents
  ADD CONSTRAINT documents_source CHECK ((file_id IS NULL) = (source IS NOT NULL));
CREATE INDEX documents_metadata_idx ON documents
  USING gin (knowledge_base_id, metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX documents_name_idx ON documents (knowledge_base_id, lower(name), id);
CREATE INDEX documents_waiting_idx ON documents (updated_at) WHERE status IN ('queued', 'processing');
CREATE INDEX documents_words_idx ON documents USING gin (knowledge_base_id, lower(name) gin_trgm_ops);

ALTER TABLE event_log
  ADD CONSTRAINT event_log_one_row CHECK (id = 1);

CREATE INDEX events_project_id_sequence_idx ON events (project_id, sequence)
  WHERE project_id IS NOT NULL AND sequence IS NOT NULL;
CREATE INDEX events_sales_idx ON events (sequence) WHERE scope = 'payments:read' AND sequence IS NOT NULL;
CREATE INDEX events_unnumbered_idx ON events (position) WHERE sequence IS NULL;
CREATE INDEX events_user_id_sequence_idx ON events (user_id, sequence)
  WHERE project_id IS NULL AND sequence IS NOT NULL;

ALTER TABLE file_links
  ADD CONSTRAINT file_links_max_downloads CHECK (download_count <= max_downloads),
  ADD CONSTRAINT file_links_metadata_object CHECK (jsonb_typeof(metadata) = 'object');

ALTER TABLE files
  ALTER COLUMN tags SET NOT NULL,
  ADD CONSTRAINT files_bytes CHECK (bytes >= 0),
  ADD CONSTRAINT files_workspace CHECK (workspace_id = coalesce(project_id, owner_id));
CREATE INDEX files_expires_at_idx ON files (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX files_metadata_idx ON files USING gin (workspace_id, metadata jsonb_path_ops)
  WHERE metadata <> '{}';
CREATE INDEX files_name_idx ON files (workspace_id, lower(name), id);
CREATE INDEX files_path_idx ON files (workspace_id, path COLLATE "C", id);
CREATE INDEX files_search_idx ON files USING gin (lower(name) gin_trgm_ops);
CREATE INDEX files_type_idx ON files (workspace_id, content_type COLLATE "C", id);

ALTER TABLE invitations
  ADD CONSTRAINT invitations_email_lower CHECK (email = lower(email)),
  ADD CONSTRAINT invitations_invitee_check CHECK ((email = '') = (user_id IS NOT NULL)),
  ADD CONSTRAINT invitations_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
CREATE UNIQUE INDEX invitations_pending_key ON invitations (project_id, email, coalesce(user_id,
  '')) WHERE status = 'pending';

ALTER TABLE knowledge_bases
  ADD CONSTRAINT knowledge_bases_chunking CHECK ((overlap_tokens * 2) <= max_tokens),
  ADD CONSTRAINT knowledge_bases_workspace CHECK (workspace_id = coalesce(project_id, owner_id));
CREATE INDEX knowledge_bases_name_idx ON knowledge_bases (workspace_id, lower(name), id);

ALTER TABLE lexemes
  ALTER COLUMN lexeme TYPE text COLLATE "C",
  ADD CONSTRAINT lexemes_chunks CHECK (chunks >= 0);
CREATE INDEX lexemes_similar_idx ON lexemes USING gin (knowledge_base_id, lexeme gin_trgm_ops)
  WHERE length(lexeme) >= 4;

ALTER TABLE members
  ADD CONSTRAINT members_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
CREATE INDEX members_visible_idx ON members (user_id, project_id) WHERE project_status <> 'deleted';

ALTER TABLE order_items
  ADD CONSTRAINT order_items_amount CHECK (quantity > 0 AND unit_amount > 0
    AND amount = (quantity * unit_amount));

ALTER TABLE orders
  ADD CONSTRAINT orders_amounts CHECK (total_amount >= 1 AND total_amount <= 999999999999
    AND refunded_amount >= 0 AND refunding_amount >= 0
    AND (refunded_amount + refunding_amount) <= total_amount),
  ADD CONSTRAINT orders_paid CHECK ((status IN ('pending', 'canceled')) = (paid_at IS NULL)),
  ADD CONSTRAINT orders_period CHECK ((subscription_id IS NULL) = (period IS NULL)),
  ADD CONSTRAINT orders_refunded CHECK (CASE status
    WHEN 'refunded' THEN refunded_amount = total_amount
    WHEN 'partially_refunded' THEN refunded_amount > 0 AND refunded_amount < total_amount
    WHEN 'paid' THEN refunded_amount = 0 ELSE refunded_amount = 0 AND refunding_amount = 0 END),
  ADD CONSTRAINT orders_workspace CHECK (workspace_id = coalesce(project_id, owner_id));
CREATE INDEX orders_metadata_idx ON orders USING gin (workspace_id, metadata jsonb_path_ops)
  WHERE metadata <> '{}';

ALTER TABLE passkeys
  ALTER COLUMN transports SET NOT NULL;

ALTER TABLE payment_clock
  ADD CONSTRAINT payment_clock_one CHECK (id = 1 AND "offset" >= 0);

ALTER TABLE payments
  ADD CONSTRAINT payments_amount CHECK (amount > 0),
  ADD CONSTRAINT payments_due CHECK (due_at IS NULL OR status = 'processing');
CREATE INDEX payments_due_idx ON payments (due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX payments_succeeded_idx ON payments (order_id) WHERE status = 'succeeded';

ALTER TABLE prices
  ADD CONSTRAINT prices_amount CHECK (unit_amount >= 1 AND unit_amount <= 999999999),
  ADD CONSTRAINT prices_metadata_object CHECK (jsonb_typeof(metadata) = 'object'),
  ADD CONSTRAINT prices_recurring CHECK (("interval" IS NULL) = (interval_count IS NULL)
    AND interval_count >= 1 AND interval_count <= 1095);

CREATE INDEX products_name_idx ON products (lower(name), id);

ALTER TABLE projects
  ALTER COLUMN tags SET NOT NULL,
  ADD CONSTRAINT projects_archived_at_status CHECK (archived_at IS NOT NULL OR status <> 'archived'),
  ADD CONSTRAINT projects_deleted_at_status CHECK ((deleted_at IS NOT NULL) = (status = 'deleted')),
  ADD CONSTRAINT projects_member_count CHECK (member_count >= 0),
  ADD CONSTRAINT projects_metadata_object CHECK (jsonb_typeof(metadata) = 'object'),
  ADD CONSTRAINT projects_name_not_blank CHECK (btrim(name) <> '');
CREATE INDEX projects_deleted_at_idx ON projects (deleted_at) WHERE deleted_at IS NOT NULL;

ALTER TABLE refunds
  ADD CONSTRAINT refunds_amount CHECK (amount > 0);
CREATE INDEX refunds_metadata_idx ON refunds USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX refunds_workspace_idx ON refunds (coalesce(project_id, owner_id), id);

ALTER TABLE removed_chunks
  ALTER COLUMN terms SET NOT NULL;

ALTER TABLE restored_copy
  ADD CONSTRAINT restored_copy_single CHECK (id = 1);

ALTER TABLE schema_requirements
  ADD CONSTRAINT schema_requirements_one CHECK (id = 1);

ALTER TABLE secret_keys
  ADD CONSTRAINT secret_keys_single CHECK (id = 1);

ALTER TABLE sign_ins
  ALTER COLUMN methods SET NOT NULL;

ALTER TABLE storage_usage
  ADD CONSTRAINT storage_usage_positive CHECK (files >= 0 AND bytes >= 0);

ALTER TABLE subscriptions
  ADD CONSTRAINT subscriptions_begun CHECK ((period = 0) = (anchor_at IS NULL)
    AND (period = 0) = (period_end IS NULL) AND (period = 0) = (period_start IS NULL)
    AND (period > 0 OR status IN ('incomplete', 'canceled'))),
  ADD CONSTRAINT subscriptions_ended CHECK ((status = 'canceled') = (ended_at IS NOT NULL)
    AND (ended_at IS NULL OR due_at IS NULL)),
  ADD CONSTRAINT subscriptions_workspace CHECK (workspace_id = coalesce(project_id, owner_id));
CREATE INDEX subscriptions_all_period_end_idx ON subscriptions (coalesce(period_end, 'infinity'), id);
CREATE INDEX subscriptions_due_idx ON subscriptions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX subscriptions_metadata_idx ON subscriptions USING gin (metadata jsonb_path_ops)
  WHERE metadata <> '{}';
CREATE INDEX subscriptions_period_end_idx ON subscriptions (workspace_id, coalesce(period_end,
  'infinity'), id);

ALTER TABLE uploads
  ALTER COLUMN tags SET NOT NULL,
  ADD CONSTRAINT uploads_finished CHECK (file_id IS NULL OR received = length),
  ADD CONSTRAINT uploads_received CHECK (received >= 0 AND received <= length),
  ADD CONSTRAINT uploads_workspace CHECK (workspace_id = coalesce(project_id, user_id));
CREATE INDEX uploads_unfinished_idx ON uploads (workspace_id) WHERE file_id IS NULL;

ALTER TABLE users
  ADD CONSTRAINT users_email_lower CHECK (email = lower(email)),
  ADD CONSTRAINT users_email_until_deleted CHECK ((email IS NULL) = (status = 'deleted')),
  ADD CONSTRAINT users_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
CREATE INDEX users_admins_idx ON users (id) WHERE role = 'admin';
CREATE INDEX users_metadata_idx ON users USING gin (metadata jsonb_path_ops) WHERE metadata <> '{}';
CREATE INDEX users_name_idx ON users (lower(name), id) WHERE status <> 'deleted';
CREATE INDEX users_updated_at_idx ON users (updated_at, id) WHERE status <> 'deleted';

CREATE INDEX webhook_deliveries_failed_idx ON webhook_deliveries (endpoint_id, created_at)
  WHERE status = 'failed';

ALTER TABLE webhook_endpoints
  ALTER COLUMN event_types SET NOT NULL,
  ALTER COLUMN project_ids SET NOT NULL,
  ALTER COLUMN scopes SET NOT NULL,
  ADD CONSTRAINT webhook_endpoints_disabled_reason CHECK (disabled_reason IS NULL
    OR (NOT enabled AND disabled_reason IN ('gone', 'failing'))),
  ADD CONSTRAINT webhook_endpoints_metadata_object CHECK (jsonb_typeof(metadata) = 'object');
CREATE INDEX webhook_endpoints_receivers_idx ON webhook_endpoints (user_id)
  WHERE enabled AND deleted_at IS NULL;

-- A prepared statement is planned for an average owner. While one owner has most rows of a table, the average
-- is most rows, and PostgreSQL would look for the few rows of another owner among all. From the next ANALYZE
-- it assumes a thousandth of the rows for each owner, and reads the index of the owner.
ALTER TABLE ai_messages ALTER COLUMN session_id SET (n_distinct = -0.001);
ALTER TABLE ai_sessions ALTER COLUMN workspace_id SET (n_distinct = -0.001);
ALTER TABLE documents ALTER COLUMN knowledge_base_id SET (n_distinct = -0.001);
ALTER TABLE files ALTER COLUMN workspace_id SET (n_distinct = -0.001);
ALTER TABLE knowledge_bases ALTER COLUMN workspace_id SET (n_distinct = -0.001);
ALTER TABLE members ALTER COLUMN user_id SET (n_distinct = -0.001);
ALTER TABLE orders ALTER COLUMN workspace_id SET (n_distinct = -0.001);
ALTER TABLE subscriptions ALTER COLUMN workspace_id SET (n_distinct = -0.001);
ALTER TABLE webhook_deliveries ALTER COLUMN endpoint_id SET (n_distinct_inherited = -0.001);

-- An insert into a page of the table finds space for the counts that change most.
ALTER TABLE lexemes SET (fillfactor = 80);

-- Totals and the changes that a job has not added to them.
CREATE VIEW quota_usage AS
  SELECT user_id, quota, sum(used)::bigint AS used
  FROM (
    SELECT user_id, quota, used FROM quota_totals
    UNION ALL SELECT user_id, quota, change FROM quota_changes
  ) parts
  GROUP BY user_id, quota;
CREATE VIEW project_counts AS
  SELECT user_id, status, count FROM project_count_totals
  UNION ALL SELECT user_id, status, change FROM project_count_changes;

-- The members of projects and organizations, as readers of their events.
CREATE VIEW event_readers AS
  SELECT project_id, user_id, role, storage_role, ai_role, payments_role FROM members
  UNION ALL
  SELECT organization_id, user_id, r.role, NULL, NULL, NULL FROM organization_members o
    CROSS JOIN LATERAL (SELECT (CASE o.role WHEN 'member' THEN 'viewer' ELSE o.role::text END)::"MemberRole"
      AS role) r
  WHERE o.status = 'active';

-- The functions and triggers of prisma/sql/functions. Their bodies refer to each other.
SET LOCAL check_function_bodies = off;

-- The account whose quotas a user uses: the user, or the owner of the service account.
CREATE OR REPLACE FUNCTION account_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((SELECT s.account_id FROM service_accounts s WHERE s.user_id = account_of.user_id), user_id)
$function$;

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
    ('pending_orders', 'orders', 'owner_id', 'count(*)', 'status = ''pending''', 'status', true),
    ('organizations', 'organizations', 'created_by', 'count(*)', 'true', NULL, false),
    ('organization_members', 'organization_members', 'created_by', 'count(*)', 'created_by IS NOT NULL',
      NULL, true),
    ('custom_roles', 'custom_roles', 'created_by', 'count(*)', 'true', NULL, true),
    ('service_accounts', 'service_accounts', 'account_id', 'count(*)', 'deleted_at IS NULL',
      'deleted_at, account_id', true)
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

-- Charges the bytes of a document's source to the owner of its knowledge base.
CREATE OR REPLACE FUNCTION charge_document()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.owner_id := (SELECT owner_id FROM knowledge_bases WHERE id = NEW.knowledge_base_id);
  NEW.bytes := coalesce(octet_length(NEW.source), (SELECT bytes FROM files WHERE id = NEW.file_id), 0);
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER documents_charge BEFORE INSERT ON documents
  FOR EACH ROW EXECUTE FUNCTION charge_document();

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

-- Copies the status of a project to its members, for the index of the list of projects.
CREATE OR REPLACE FUNCTION copy_project_status()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE members SET project_status = NEW.status WHERE project_id = NEW.id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER projects_copy_status AFTER UPDATE OF status ON projects
  FOR EACH ROW WHEN ((old.status IS DISTINCT FROM new.status))
  EXECUTE FUNCTION copy_project_status();

-- Keeps the number of documents by status.
CREATE OR REPLACE FUNCTION count_documents()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, count(*) FROM added GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE document_counts c SET count = c.count - gone.count
    FROM (SELECT knowledge_base_id, status, count(*) AS count FROM removed GROUP BY 1, 2) gone
    WHERE c.knowledge_base_id = gone.knowledge_base_id AND c.status = gone.status;
  ELSE
    INSERT INTO document_counts AS c (knowledge_base_id, status, count)
    SELECT knowledge_base_id, status, sum(n) FROM (
      SELECT knowledge_base_id, status, 1 AS n FROM added UNION ALL SELECT knowledge_base_id, status, -1
        FROM removed
    ) moved GROUP BY 1, 2 HAVING sum(n) <> 0 ORDER BY 1, 2
    ON CONFLICT (knowledge_base_id, status) DO UPDATE SET count = c.count + excluded.count;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER documents_added AFTER INSERT ON documents
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

CREATE OR REPLACE TRIGGER documents_moved AFTER UPDATE ON documents
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

CREATE OR REPLACE TRIGGER documents_removed AFTER DELETE ON documents
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_documents();

-- Keeps `projects.member_count`, and the number of a user's projects: each change is a row of its own, so
-- that the writes of a user do not wait for each other.
CREATE OR REPLACE FUNCTION count_members()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET member_count = p.member_count + d.n
      FROM (SELECT project_id, count(*)::int AS n FROM added GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, count(*)::int FROM added GROUP BY 1, 2;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE projects p SET member_count = p.member_count - d.n
      FROM (SELECT project_id, count(*)::int AS n FROM removed GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, -count(*)::int FROM removed GROUP BY 1, 2;
  ELSE
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, sum(n)::int FROM (
        SELECT user_id, project_status, 1 AS n FROM added
        UNION ALL SELECT user_id, project_status, -1 FROM removed
      ) d GROUP BY 1, 2 HAVING sum(n) <> 0;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER members_count_delete AFTER DELETE ON members
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();

CREATE OR REPLACE TRIGGER members_count_insert AFTER INSERT ON members
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();

CREATE OR REPLACE TRIGGER members_count_update AFTER UPDATE ON members
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();

-- Adds new files to the storage usage.
CREATE OR REPLACE FUNCTION count_new_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_usage AS u (workspace_id, files, bytes)
  SELECT workspace_id, count(*), sum(bytes) FROM added GROUP BY workspace_id ORDER BY workspace_id
  ON CONFLICT (workspace_id) DO UPDATE SET files = u.files + excluded.files, bytes = u.bytes + excluded.bytes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_added AFTER INSERT ON files
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_files();

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

-- Counts orders, checkout sessions, subscriptions and refunds by status. Each change is a row of its own, so
-- that concurrent payments do not wait for each other.
CREATE OR REPLACE FUNCTION count_sales()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO sales_counts (kind, status, count)
  SELECT TG_TABLE_NAME, status, sum(n)
  FROM (VALUES (OLD.status::text, -1), (NEW.status::text, 1)) changed (status, n)
  WHERE status IS NOT NULL GROUP BY status HAVING sum(n) <> 0;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_count AFTER INSERT OR DELETE OR UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER orders_count AFTER INSERT OR DELETE OR UPDATE OF status ON orders
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER refunds_count AFTER INSERT OR DELETE OR UPDATE OF status ON refunds
  FOR EACH ROW EXECUTE FUNCTION count_sales();

CREATE OR REPLACE TRIGGER subscriptions_count AFTER INSERT OR DELETE OR UPDATE OF status ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION count_sales();

-- Whether an event or a delivery is in no month: `make_partitions` did not run for two months, or the clock
-- of a server is wrong.
CREATE OR REPLACE FUNCTION default_partitions_have_rows()
RETURNS boolean
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
AS $function$
  SELECT EXISTS (SELECT FROM events_default) OR EXISTS (SELECT FROM webhook_deliveries_default)
$function$;

-- Orders and subscriptions survive their project and move to their owner.
CREATE OR REPLACE FUNCTION detach_from_project()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.workspace_id := coalesce(NEW.project_id, NEW.owner_id);
  IF TG_TABLE_NAME = 'subscriptions' THEN
    NEW.abandoned := NEW.project_id IS NULL;
    IF NEW.abandoned AND NEW.ended_at IS NULL THEN
      NEW.due_at := payments_now();
    END IF;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_detach_from_project BEFORE UPDATE OF project_id ON orders
  FOR EACH ROW WHEN ((old.project_id IS DISTINCT FROM new.project_id))
  EXECUTE FUNCTION detach_from_project();

CREATE OR REPLACE TRIGGER subscriptions_detach_from_project BEFORE UPDATE OF project_id ON subscriptions
  FOR EACH ROW WHEN ((old.project_id IS DISTINCT FROM new.project_id))
  EXECUTE FUNCTION detach_from_project();

-- Drops a month of deliveries or of events that ended more than `days` days ago, the oldest first. Returns
-- its name; null if there is none, or if other transactions use the table for longer than half a second,
-- which is before PostgreSQL looks for deadlocks.
-- A day is added: the clocks of servers differ, and an event may be numbered long after its id was made. So
-- `removed_through`, where the log begins, is never after an event that is younger than `days` days.
-- It has the rights of the owner of the tables, and serves roles that may delete the rows.
CREATE OR REPLACE FUNCTION drop_old_partition(days integer)
RETURNS text
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
SET lock_timeout TO '500ms'
AS $function$
DECLARE
  month record;
  last bigint;
  unnumbered boolean;
BEGIN
  IF NOT (has_table_privilege(session_user, 'events', 'DELETE')
      AND has_table_privilege(session_user, 'webhook_deliveries', 'DELETE')) THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied to delete events';
  END IF;
  FOR month IN SELECT parent, name FROM month_partitions()
    WHERE ends < now() AT TIME ZONE 'UTC' - make_interval(days => greatest(days, 1) + 1)
    ORDER BY ends, parent DESC
  LOOP
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', month.parent);
    -- Another process may have dropped it while it held the lock.
    CONTINUE WHEN to_regclass(month.name) IS NULL;
    IF month.parent = 'events' THEN
      EXECUTE format('SELECT max(sequence), EXISTS (SELECT FROM %I WHERE sequence IS NULL) FROM %1$I',
        month.name) INTO last, unnumbered;
      CONTINUE WHEN unnumbered;
    END IF;
    EXECUTE format('DROP TABLE %I', month.name);
    IF month.parent = 'events' THEN
      UPDATE event_log SET removed_through = greatest(removed_through, last);
    END IF;
    RETURN month.name;
  END LOOP;
  RETURN NULL;
EXCEPTION WHEN lock_not_available THEN
  RETURN NULL;
END $function$;

-- Locks the word counts of a knowledge base until the end of the transaction.
CREATE OR REPLACE FUNCTION hold_lexemes(base text)
RETURNS void
LANGUAGE sql
AS $function$
  SELECT pg_advisory_xact_lock(hashtextextended(base, 7311903266))
$function$;

-- The lowest id with this prefix of a time: ids begin with their time of creation, in milliseconds.
CREATE OR REPLACE FUNCTION id_at(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
IMMUTABLE
STRICT
PARALLEL SAFE
AS $function$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> (5 * digit)) & 31)::int, 1), '' ORDER BY digit DESC
  ) || repeat('0', 16)
  FROM (SELECT least(greatest(ceil(extract(epoch FROM at) * 1000), 0), 281474976710655)::bigint AS ms) times,
    generate_series(0, 9) AS digit
$function$;

-- The account whose limits of use (requests, tokens, turns) a user shares: the user; the main owner of the
-- project of a service account; or its organization, which shares the limits of an owner unless an operator
-- gave it limits of its own. Quotas count for `account_of`.
CREATE OR REPLACE FUNCTION limits_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((
    SELECT coalesce(o.limits_of, s.account_id)
    FROM service_accounts s LEFT JOIN organizations o ON o.id = s.account_id
    WHERE s.user_id = limits_of.user_id
  ), user_id)
$function$;

-- Makes the transactions that take storage in a workspace wait for each other, and reads what is taken: see
-- `storage_use`.
CREATE OR REPLACE FUNCTION lock_storage(workspace text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads ' || workspace, 0));
  SELECT u.taken, u.used INTO taken, used FROM storage_use(workspace, besides) u;
END $function$;

-- Makes the months of events and deliveries up to two months from now, and moves rows of these months from
-- the default partitions to them. Returns the number of partitions. It waits for other transactions for half
-- a second, which is before PostgreSQL looks for deadlocks, and then fails with 55P03. It has the rights of
-- the owner of the tables, because the role of servers changes no table.
CREATE OR REPLACE FUNCTION make_partitions()
RETURNS integer
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path TO 'public', 'pg_temp'
SET lock_timeout TO '500ms'
AS $function$
DECLARE
  last_month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
  table_name text;
  prefix text;
  month timestamp;
  low text;
  high text;
  partition text;
  made integer := 0;
BEGIN
  FOR table_name, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
    SELECT max(ends) INTO month FROM month_partitions() WHERE parent = table_name;
    CONTINUE WHEN month > last_month;
    EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', table_name);
    -- Another process may have made them while it held the lock.
    SELECT max(ends) INTO month FROM month_partitions() WHERE parent = table_name;
    WHILE month <= last_month LOOP
      partition := table_name || to_char(month, '_YYYY_MM');
      low := id_at(prefix, month AT TIME ZONE 'UTC');
      month := month + interval '1 month';
      high := id_at(prefix, month AT TIME ZONE 'UTC');
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, table_name || '_default');
      IF table_name = 'webhook_deliveries' THEN
        EXECUTE format('ALTER TABLE %I ALTER COLUMN endpoint_id SET (n_distinct = -0.001)', partition);
      END IF;
      EXECUTE format('WITH moved AS (DELETE FROM %I WHERE id >= %L AND id < %L RETURNING *)
        INSERT INTO %I SELECT * FROM moved', table_name || '_default', low, high, partition);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        table_name, partition, low, high);
      made := made + 1;
    END LOOP;
  END LOOP;
  RETURN made;
END $function$;

-- Whether a user may give another this role in an organization, now: the user must be active, an admin of the
-- organization, and for the role `owner` an owner.
CREATE OR REPLACE FUNCTION may_give_in_organization(giver text, organization text, role "OrganizationRole")
RETURNS boolean
LANGUAGE sql
STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM organization_members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = may_give_in_organization.organization
      AND m.user_id = may_give_in_organization.giver AND m.status = 'active' AND u.status = 'active'
      AND m.role <= least(may_give_in_organization.role, 'admin')
  )
$function$;

-- Whether a user may give another these roles in the areas of a project, now: the user must be active, an
-- admin of the project, and may do at least as much in each area. The most powerful role is the first of the
-- type; null allows nothing.
CREATE OR REPLACE FUNCTION may_give(
  giver text, project text,
  projects "MemberRole", storage "MemberRole", ai "MemberRole", payments "MemberRole"
)
RETURNS boolean
LANGUAGE sql
STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.project_id = may_give.project AND m.user_id = may_give.giver AND u.status = 'active'
      AND m.role <= least(may_give.projects, 'admin')
      AND coalesce(m.storage_role <= may_give.storage, may_give.storage IS NULL)
      AND coalesce(m.ai_role <= may_give.ai, may_give.ai IS NULL)
      AND coalesce(m.payments_role <= may_give.payments, may_give.payments IS NULL)
  )
$function$;

-- The months of the partitioned tables, from their names: `events_2027_01` has the events of January 2027,
-- `events_before_2027_01` all earlier ones. `ends`: the first moment after the partition, in UTC.
CREATE OR REPLACE FUNCTION month_partitions(OUT parent text, OUT name text,
  OUT ends timestamp without time zone)
RETURNS SETOF record
LANGUAGE sql
STABLE
AS $function$
  SELECT p.relname::text, c.relname::text, to_date(right(c.relname, 7), 'YYYY_MM')
    + CASE WHEN c.relname ~ '_before_\d{4}_\d\d$' THEN interval '0' ELSE interval '1 month' END
  FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.oid IN ('public.events'::regclass, 'public.webhook_deliveries'::regclass)
    AND c.relname ~ '_\d{4}_\d\d$'
$function$;

-- When the owner whose limits of use an organization shares is no longer an owner, it shares those of its
-- longest-standing owner who agreed to be one: it takes no limits without consent. Without such an owner the
-- former one goes on to share them. At commit, because another owner may be made later in the transaction.
CREATE OR REPLACE FUNCTION move_organization_limits()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE organizations o SET limits_of = next.user_id
  FROM (
    SELECT m.user_id FROM organization_members m
    WHERE m.organization_id = OLD.organization_id AND m.role = 'owner' AND m.status = 'active'
      AND m.accepts_limits
    ORDER BY m.created_at, m.id LIMIT 1
  ) next
  WHERE o.id = OLD.organization_id AND o.limits_of = OLD.user_id AND NOT EXISTS (
    SELECT FROM organization_members m
    WHERE m.organization_id = o.id AND m.user_id = o.limits_of AND m.role = 'owner' AND m.status = 'active'
  );
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER organization_members_move_limits
  AFTER DELETE OR UPDATE OF role ON organization_members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"OrganizationRole")) EXECUTE FUNCTION move_organization_limits();

-- The service accounts of a project use the limits of its organization, or of its main owner. When that
-- changes, what they have moves with them, by the rows of `all_quotas()`, and all servers are notified.
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
    FOR counted IN SELECT * FROM all_quotas() WHERE source <> 'service_accounts' LOOP
      EXECUTE format('SELECT coalesce(%s, 0) FROM %I WHERE %s = $1 AND %s', counted.amount, counted.source,
        counted.owner, counted.counted) INTO amount USING account.user_id;
      IF amount <> 0 THEN
        INSERT INTO quota_changes (user_id, quota, change)
        VALUES (account.account_id, counted.quota, -amount), (target, counted.quota, amount);
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

-- A new id with this prefix of a time, as `newIdAt` of infra/ids.ts makes it: a UUIDv7 in base32.
CREATE OR REPLACE FUNCTION new_id(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
VOLATILE
STRICT
PARALLEL SAFE
AS $function$
  SELECT left(id_at(prefix, at), -16) || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * digit FOR 5)::int, 1), ''
    ORDER BY digit)
  FROM (SELECT ('x7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::bit(80) AS bits) random,
    generate_series(0, 15) AS digit
$function$;

-- Queues the word counts of deleted chunks for subtraction.
CREATE OR REPLACE FUNCTION note_removed_chunks()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO removed_chunks (knowledge_base_id, language, tokens, terms)
  SELECT r.knowledge_base_id, r.language, r.tokens, r.terms FROM removed r JOIN knowledge_bases k ON k.id =
    r.knowledge_base_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER chunks_removed AFTER DELETE ON chunks
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_chunks();

-- Queues the word counts of a deleted knowledge base for deletion.
CREATE OR REPLACE FUNCTION note_removed_knowledge()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO removed_chunks (knowledge_base_id, language, tokens, terms) SELECT id, 'simple', 0, '{}' FROM
    removed;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER knowledge_bases_removed AFTER DELETE ON knowledge_bases
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION note_removed_knowledge();

-- Notifies all servers that an API key has changed (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_key_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', encode(OLD.digest, 'hex'));
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER api_keys_notify_change AFTER DELETE OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION notify_key_change();

-- Notifies all servers that the service accounts of an organization use other limits (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_limits_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', s.user_id) FROM service_accounts s
  WHERE s.account_id = NEW.id AND s.deleted_at IS NULL;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER organizations_notify_limits AFTER UPDATE OF limits_of ON organizations
  FOR EACH ROW WHEN ((old.limits_of IS DISTINCT FROM new.limits_of)) EXECUTE FUNCTION notify_limits_change();

-- Notifies all servers that the owner of API keys has changed (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_owner_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', NEW.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER users_notify_change AFTER UPDATE OF status, role ON users
  FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.role IS DISTINCT FROM new.role)))
  EXECUTE FUNCTION notify_owner_change();

-- Notifies all servers that a session has ended, or was moved into a cookie (`NOTIFY key_change`).
CREATE OR REPLACE FUNCTION notify_sign_in_change()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('key_change', OLD.id);
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER sign_ins_notify_change AFTER DELETE ON sign_ins
  FOR EACH ROW EXECUTE FUNCTION notify_sign_in_change();

CREATE OR REPLACE TRIGGER sign_ins_notify_cookie AFTER UPDATE OF in_cookie ON sign_ins
  FOR EACH ROW EXECUTE FUNCTION notify_sign_in_change();

-- Numbers committed events, one caller at a time, and notifies the readers of the log. A sequence that is
-- drawn while writing becomes visible out of order: a reader that asks for events after a number could miss
-- one that commits late.
CREATE OR REPLACE FUNCTION number_events(most integer, OUT last bigint, OUT numbered integer)
RETURNS record
LANGUAGE plpgsql
AS $function$
BEGIN
  numbered := 0;
  IF NOT EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) THEN
    SELECT last_sequence INTO last FROM event_log;
    RETURN;
  END IF;
  SELECT last_sequence INTO last FROM event_log FOR UPDATE;
  WITH next AS (
    SELECT id, last + row_number() OVER (ORDER BY position) AS number
    FROM (SELECT id, position FROM events WHERE sequence IS NULL ORDER BY position LIMIT most
      FOR NO KEY UPDATE) unnumbered
  ), written AS (
    UPDATE events e SET sequence = next.number FROM next WHERE e.id = next.id RETURNING 1
  )
  SELECT count(*) INTO numbered FROM written;
  IF numbered > 0 THEN
    last := last + numbered;
    UPDATE event_log SET last_sequence = last;
    PERFORM pg_notify('events', last::text);
  END IF;
END $function$;

-- The time of payments: the clock of the sandbox may be ahead.
CREATE OR REPLACE FUNCTION payments_now()
RETURNS timestamp with time zone
LANGUAGE sql
STABLE
AS $function$
  SELECT statement_timestamp() + "offset" * interval '1 millisecond' FROM "payment_clock"
$function$;

-- Puts the images of deleted avatars into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_avatars()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO quarantined_blobs (key, reason)
  SELECT id || '-' || size, 'deleted' FROM removed, unnest(ARRAY[64, 128, 256]) size
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER avatars_removed AFTER DELETE ON avatars
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_avatars();

-- Subtracts deleted files from the storage usage, and puts their blobs into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes FROM removed GROUP BY workspace_id
  ) deleted
  WHERE u.workspace_id = deleted.workspace_id;
  INSERT INTO quarantined_blobs (key, reason) SELECT blob_key, 'deleted' FROM removed
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_removed AFTER DELETE ON files
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_files();

-- How much of a quota a user has used.
CREATE OR REPLACE FUNCTION quota_used(name text, owner text)
RETURNS bigint
LANGUAGE sql
AS $function$
  SELECT coalesce((SELECT used FROM quota_totals t WHERE t.user_id = owner AND t.quota = name), 0)
    + coalesce(
      (SELECT sum(c.change) FROM quota_changes c WHERE c.user_id = owner AND c.quota = name), 0
    )::bigint
$function$;

-- The items of an order never change.
CREATE OR REPLACE FUNCTION refuse_update()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% never change', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT =
    TG_TABLE_NAME || '_fixed';
END $function$;

CREATE OR REPLACE TRIGGER order_items_fixed BEFORE UPDATE ON order_items
  FOR EACH ROW EXECUTE FUNCTION refuse_update();

-- A status changes only as the arguments of the trigger allow.
CREATE OR REPLACE FUNCTION require_allowed_transition()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.status <> NEW.status AND NOT (OLD.status::text || ' > ' || NEW.status::text = ANY (TG_ARGV)) THEN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_transition';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER checkouts_transition BEFORE UPDATE OF status ON checkouts
  FOR EACH ROW EXECUTE FUNCTION require_allowed_transition('open > complete', 'open > expired');

CREATE OR REPLACE TRIGGER orders_transition BEFORE UPDATE OF status ON orders
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'pending > paid',
    'pending > canceled',
    'paid > partially_refunded',
    'paid > refunded',
    'partially_refunded > refunded'
  );

CREATE OR REPLACE TRIGGER payments_transition BEFORE UPDATE OF status ON payments
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'requires_confirmation > processing',
    'requires_confirmation > succeeded',
    'requires_confirmation > failed',
    'processing > succeeded',
    'processing > failed',
    'requires_confirmation > returning',
    'processing > returning',
    'returning > returned'
  );

CREATE OR REPLACE TRIGGER refunds_transition BEFORE UPDATE OF status ON refunds
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition('pending > succeeded', 'pending > failed');

CREATE OR REPLACE TRIGGER subscriptions_transition BEFORE UPDATE OF status ON subscriptions
  FOR EACH ROW
  EXECUTE FUNCTION require_allowed_transition(
    'incomplete > active',
    'incomplete > canceled',
    'active > past_due',
    'active > canceled',
    'past_due > active',
    'past_due > canceled'
  );

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

-- A project always has an owner. Checked at commit.
CREATE OR REPLACE FUNCTION require_owner()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM 1 FROM projects WHERE id = OLD.project_id AND status <> 'deleted' FOR NO KEY UPDATE;
  IF FOUND AND NOT EXISTS (SELECT 1 FROM members WHERE project_id = OLD.project_id AND role = 'owner') THEN
    RAISE EXCEPTION 'project % would have no owner', OLD.project_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'last_owner', TABLE = 'members';
  END IF;
  RETURN NULL;
END $function$;

CREATE CONSTRAINT TRIGGER members_require_owner AFTER DELETE OR UPDATE OF role, own_role, custom_role_id,
    organization_role ON members
  DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((old.role = 'owner'::"MemberRole")) EXECUTE FUNCTION require_owner();

-- Amount, currency and owner of an order never change.
CREATE OR REPLACE FUNCTION require_unchanged_order()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.total_amount, OLD.currency, OLD.owner_id, OLD.subscription_id, OLD.period,
    OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.total_amount, NEW.currency, NEW.owner_id, NEW.subscription_id,
      NEW.period, NEW.created_at) THEN
    RAISE EXCEPTION 'the amount of an order never changes' USING ERRCODE = 'check_violation', CONSTRAINT =
      'orders_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_fixed BEFORE UPDATE ON orders
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_order();

-- Amount and currency of a payment or refund never change.
CREATE OR REPLACE FUNCTION require_unchanged_payment()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.order_id, OLD.amount, OLD.currency) IS DISTINCT FROM ROW(NEW.id, NEW.order_id,
    NEW.amount, NEW.currency) THEN
    RAISE EXCEPTION 'the amount of % never changes', TG_TABLE_NAME USING ERRCODE = 'check_violation',
      CONSTRAINT = TG_TABLE_NAME || '_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER payments_fixed BEFORE UPDATE ON payments
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_payment();

CREATE OR REPLACE TRIGGER refunds_fixed BEFORE UPDATE ON refunds
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_payment();

-- A price never changes; it is archived.
CREATE OR REPLACE FUNCTION require_unchanged_price()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF ROW(OLD.id, OLD.product_id, OLD.unit_amount, OLD.currency, OLD.interval, OLD.interval_count,
    OLD.created_at)
    IS DISTINCT FROM ROW(NEW.id, NEW.product_id, NEW.unit_amount, NEW.currency, NEW.interval,
      NEW.interval_count, NEW.created_at) THEN
    RAISE EXCEPTION 'a price never changes' USING ERRCODE = 'check_violation', CONSTRAINT = 'prices_fixed';
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER prices_fixed BEFORE UPDATE ON prices
  FOR EACH ROW EXECUTE FUNCTION require_unchanged_price();

-- Adds to a reservation in a workspace, or begins it: as many bytes as are left of the quota, at most
-- `most_bytes`.
-- Returns null and reserves nothing when fewer than `least_bytes` are left.
CREATE OR REPLACE FUNCTION reserve_storage(
  reservation text, workspace text, least_bytes bigint, most_bytes bigint, quota bigint, seconds integer
)
RETURNS bigint
LANGUAGE plpgsql
AS $function$
DECLARE
  granted bigint;
BEGIN
  granted := least(most_bytes, quota - (SELECT l.used FROM lock_storage(workspace, NULL) l));
  IF granted < least_bytes THEN
    RETURN NULL;
  END IF;
  INSERT INTO storage_reservations AS r (id, workspace_id, bytes, held_until)
  VALUES (reservation, workspace, granted, now() + make_interval(secs => seconds))
  ON CONFLICT (id) DO UPDATE SET bytes = r.bytes + excluded.bytes, held_until = excluded.held_until;
  RETURN granted;
END $function$;

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

-- Words of a knowledge base that are similar to a word, by trigrams. At most 2,000 candidates of the trigram
-- index are compared, because many words of a base may share their trigrams.
CREATE OR REPLACE FUNCTION similar_lexemes(bases text[], word text, most integer)
RETURNS TABLE(lexeme text, alike real)
LANGUAGE sql
STABLE
SET "pg_trgm.similarity_threshold" TO '0.45'
SET enable_seqscan TO 'off'
SET enable_indexscan TO 'off'
AS $function$
  SELECT c.lexeme, max(similarity(c.lexeme, word)) AS alike
  FROM (
    SELECT l.lexeme FROM lexemes l
    WHERE l.knowledge_base_id = ANY(bases) AND length(l.lexeme) >= 4 AND l.lexeme % word LIMIT 2000
  ) c
  WHERE abs(length(c.lexeme) - length(word)) <= 3
  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT most
$function$;

-- The bytes that count against the quota of a workspace: its files, the whole length of its unfinished
-- uploads (`taken`), and with them the bytes that uploads in progress have reserved (`used`). `besides` is
-- the id of an upload or a reservation that does not count. A reservation that its server no longer renews
-- has ended.
CREATE OR REPLACE FUNCTION storage_use(workspace text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE sql
STABLE
AS $function$
  SELECT t.taken, t.taken + coalesce((
    SELECT sum(bytes) FROM storage_reservations
    WHERE workspace_id = workspace AND held_until > now() AND id IS DISTINCT FROM besides
  ), 0)::bigint
  FROM (SELECT (
    coalesce((SELECT bytes FROM storage_usage WHERE workspace_id = workspace), 0)
    + coalesce((
      SELECT sum(length) FROM uploads
      WHERE workspace_id = workspace AND file_id IS NULL AND expires_at > now()
        AND id IS DISTINCT FROM besides
    ), 0)
  )::bigint AS taken) t
$function$;

-- The users who share the limits of use of a user: those with the same `limits_of`.
CREATE OR REPLACE FUNCTION users_sharing_limits(user_id text)
RETURNS SETOF text
LANGUAGE sql
STABLE
AS $function$
  WITH account AS MATERIALIZED (SELECT limits_of(user_id) AS id)
  SELECT id FROM account
  UNION ALL
  SELECT s.user_id FROM account a JOIN service_accounts s ON s.account_id = a.id
  UNION ALL
  SELECT s.user_id FROM account a JOIN organizations o ON o.limits_of = a.id
    JOIN service_accounts s ON s.account_id = o.id
$function$;

-- The partitions of events and deliveries: one for everything before this month, one for ids of no month, and
-- a month each. A unique index of a partitioned table must contain the column of the partitions, so each
-- partition has its own unique index of `sequence`.
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE UNIQUE INDEX events_default_sequence_key ON events_default (sequence) WHERE sequence IS NOT NULL;
CREATE TABLE webhook_deliveries_default PARTITION OF webhook_deliveries DEFAULT;
ALTER TABLE webhook_deliveries_default ALTER COLUMN endpoint_id SET (n_distinct = -0.001);
DO $$
DECLARE
  month timestamp := date_trunc('month', now() AT TIME ZONE 'UTC');
  parent text;
  prefix text;
  partition text;
BEGIN
  FOR parent, prefix IN VALUES ('events', 'evt'), ('webhook_deliveries', 'whd') LOOP
    partition := parent || '_before' || to_char(month, '_YYYY_MM');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, parent || '_default');
    IF parent = 'webhook_deliveries' THEN
      EXECUTE format('ALTER TABLE %I ALTER COLUMN endpoint_id SET (n_distinct = -0.001)', partition);
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
      parent, partition, id_at(prefix, month AT TIME ZONE 'UTC'));
  END LOOP;
END $$;
SELECT make_partitions();

-- Tables of one row.
INSERT INTO audit_chain VALUES (1, 0, '', 0, '');
INSERT INTO database_identity (database_id) VALUES ('db_' || replace(gen_random_uuid()::text, '-', ''));
INSERT INTO event_log DEFAULT VALUES;
INSERT INTO payment_clock (id) VALUES (1);
INSERT INTO schema_requirements (oldest_server) VALUES ('1.12.0');
