-- The order of a refund.
-- @optional
SELECT order_id FROM refunds WHERE id = :id
