-- A charge of a stored card.
-- @optional
SELECT order_id, amount, currency FROM payments WHERE id = :id AND gateway = :gateway AND checkout_id IS NULL
