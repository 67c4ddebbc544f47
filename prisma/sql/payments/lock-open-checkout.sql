-- Locks the open checkout session of an order against other writers.
-- @optional
SELECT {owned-checkout-columns}
FROM checkouts c
WHERE c.order_id = :order_id AND c.status = 'open'
FOR NO KEY UPDATE
