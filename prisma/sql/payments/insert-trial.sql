-- Records the trial of a product. No row if the customer had one.
-- @optional
INSERT INTO trials (customer_id, product_id, subscription_id, created_at)
VALUES (:customer_id, :product_id, :subscription_id, :created_at)
ON CONFLICT DO NOTHING RETURNING product_id
