-- The audit log, a chain of signed entries.
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
CREATE UNIQUE INDEX "audit_entries_id_key" ON "audit_entries"("id");
CREATE INDEX "audit_entries_user_id_id_idx" ON "audit_entries"("user_id", "id");

CREATE TABLE "audit_chain" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "sequence" BIGINT NOT NULL,
    "signature" TEXT NOT NULL,
    "first_sequence" BIGINT NOT NULL,
    "first_signature" TEXT NOT NULL,

    CONSTRAINT "audit_chain_pkey" PRIMARY KEY ("id")
);
INSERT INTO "audit_chain" VALUES (1, 0, '', 0, '');
