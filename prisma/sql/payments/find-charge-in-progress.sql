-- The charge of an order that has no outcome yet.
-- @optional
SELECT id FROM payments WHERE order_id = :order_id AND status = 'processing' AND checkout_id IS NULL LIMIT 1
