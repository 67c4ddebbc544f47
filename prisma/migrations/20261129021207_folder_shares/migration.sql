-- CreateTable
CREATE TABLE "folder_shares" (
    "id" TEXT NOT NULL,
    "folder_id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" "MemberRole" NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "folder_shares_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "folder_shares_email_id_idx" ON "folder_shares"("email", "id");

-- CreateIndex
CREATE INDEX "folder_shares_owner_id_id_idx" ON "folder_shares"("owner_id", "id");

-- CreateIndex
CREATE INDEX "folder_shares_project_id_idx" ON "folder_shares"("project_id");

-- CreateIndex
CREATE UNIQUE INDEX "folder_shares_folder_id_email_key" ON "folder_shares"("folder_id", "email");

-- AddForeignKey
ALTER TABLE "folder_shares" ADD CONSTRAINT "folder_shares_folder_id_fkey" FOREIGN KEY ("folder_id") REFERENCES "folders"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "folder_shares" ADD CONSTRAINT "folder_shares_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "folder_shares" ADD CONSTRAINT "folder_shares_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE folder_shares ADD CONSTRAINT folder_shares_role CHECK (role IN ('editor', 'viewer'));
