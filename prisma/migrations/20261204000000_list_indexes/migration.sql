-- One index for each sort key of the lists of users and subscriptions, so that a cursor is a range of it.
CREATE INDEX "users_updated_at_idx" ON "users"("updated_at", "id") WHERE "status" <> 'deleted';
CREATE INDEX "users_name_idx" ON "users"(lower("name"), "id") WHERE "status" <> 'deleted';
-- A subscription without a period is sorted like one that never ends.
DROP INDEX "subscriptions_space_id_period_end_id_idx";
CREATE INDEX "subscriptions_period_end_idx"
  ON "subscriptions"("space_id", coalesce("period_end", 'infinity'), "id");
