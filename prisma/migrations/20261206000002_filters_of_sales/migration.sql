-- The lists of the sales of all users, sorted by updated_at and filtered by metadata.
CREATE INDEX "orders_all_updated_at_idx" ON "orders"("updated_at", "id");
CREATE INDEX "checkouts_updated_at_idx" ON "checkouts"("updated_at", "id");
CREATE INDEX "subscriptions_updated_at_idx" ON "subscriptions"("updated_at", "id");
CREATE INDEX "refunds_updated_at_idx" ON "refunds"("updated_at", "id");
CREATE INDEX "checkouts_metadata_idx" ON "checkouts" USING gin ("metadata" jsonb_path_ops)
  WHERE "metadata" <> '{}';
CREATE INDEX "subscriptions_metadata_idx" ON "subscriptions" USING gin ("metadata" jsonb_path_ops)
  WHERE "metadata" <> '{}';
CREATE INDEX "refunds_metadata_idx" ON "refunds" USING gin ("metadata" jsonb_path_ops)
  WHERE "metadata" <> '{}';
