-- One index for each order of the list of prices, so that a page is a range of it.
CREATE INDEX "prices_unit_amount_id_idx" ON "prices"("unit_amount", "id");
CREATE INDEX "prices_updated_at_idx" ON "prices"("updated_at", "id");
