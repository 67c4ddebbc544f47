-- The order of a dispute.
-- @one
SELECT order_id FROM disputes WHERE id = :id
