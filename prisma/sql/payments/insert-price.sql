-- Inserts a price: recurring with an interval, else one-time.
-- @one
WITH p AS (
  INSERT INTO prices (id, product_id, unit_amount, currency, interval, interval_count, metadata, created_at)
  VALUES (:id, :product_id, :unit_amount, :currency, :interval?, :interval_count?, :metadata, :created_at)
  RETURNING *
)
SELECT {price-columns} FROM p
