-- A prepared statement is planned for an average owner. While one owner has most rows of a table, the
-- average is most rows, and PostgreSQL would look for the few rows of another owner among all. From the next
-- ANALYZE it assumes a thousandth of the rows for each owner, and reads the index of the owner.
ALTER TABLE "members" ALTER COLUMN "user_id" SET (n_distinct = -0.001);
ALTER TABLE "files" ALTER COLUMN "space_id" SET (n_distinct = -0.001);
ALTER TABLE "knowledge_bases" ALTER COLUMN "space_id" SET (n_distinct = -0.001);
ALTER TABLE "documents" ALTER COLUMN "knowledge_base_id" SET (n_distinct = -0.001);
ALTER TABLE "ai_sessions" ALTER COLUMN "space_id" SET (n_distinct = -0.001);
ALTER TABLE "ai_messages" ALTER COLUMN "session_id" SET (n_distinct = -0.001);
ALTER TABLE "orders" ALTER COLUMN "space_id" SET (n_distinct = -0.001);
ALTER TABLE "subscriptions" ALTER COLUMN "space_id" SET (n_distinct = -0.001);
ALTER TABLE "webhook_deliveries" ALTER COLUMN "endpoint_id" SET (n_distinct = -0.001);
