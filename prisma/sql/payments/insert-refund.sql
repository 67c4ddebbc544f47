-- Inserts a pending refund.
-- @none
INSERT INTO refunds (id, order_id, payment_id, amount, currency, reason, metadata, created_at, updated_at)
VALUES (:id, :order_id, :payment_id, :amount, :currency, :reason?, :metadata, :created_at, :created_at)
