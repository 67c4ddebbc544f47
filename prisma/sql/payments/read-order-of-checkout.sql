-- The order of a checkout session.
-- @one
SELECT order_id FROM checkouts WHERE id = :id
