-- A database that was restored from a backup. Until the operator confirms it, nothing is sent or charged.
CREATE TABLE "restored_copy" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "backup_id" TEXT NOT NULL,
    "backup_created_at" TIMESTAMPTZ(3) NOT NULL,
    "restored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "confirmed_at" TIMESTAMPTZ(3),

    CONSTRAINT "restored_copy_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "restored_copy_single" CHECK ("id" = 1)
);
