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

-- CreateIndex
CREATE INDEX "jobs_queue_lane_due_at_idx" ON "jobs"("queue", "lane", "due_at");
