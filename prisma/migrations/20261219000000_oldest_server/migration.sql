-- The oldest server version that may use this schema.
CREATE TABLE "schema_requirements" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "oldest_server" TEXT NOT NULL,

    CONSTRAINT "schema_requirements_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "schema_requirements_one" CHECK ("id" = 1)
);
INSERT INTO "schema_requirements" ("oldest_server") VALUES ('1.8.0');
