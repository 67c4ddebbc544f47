-- CreateTable
CREATE TABLE "source_turns" (
    "owner_id" TEXT NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "source_turns_pkey" PRIMARY KEY ("owner_id")
);
