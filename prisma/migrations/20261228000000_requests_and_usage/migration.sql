-- The latest API requests of each user, and what each user used by day. No foreign keys: a batch of requests
-- is written even if one of its keys was deleted meanwhile.
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
CREATE INDEX "api_requests_user_id_id_idx" ON "api_requests"("user_id", "id");

CREATE TABLE "usage_days" (
    "user_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "requests" BIGINT NOT NULL DEFAULT 0,
    "errors" BIGINT NOT NULL DEFAULT 0,
    "downloaded_bytes" BIGINT NOT NULL DEFAULT 0,
    "storage_bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "usage_days_pkey" PRIMARY KEY ("user_id","day")
);
CREATE INDEX "usage_days_day_idx" ON "usage_days"("day");
