-- A slow payment, if it is due to finish.
-- @optional
-- @type card { brand: string; last4: string; renews: boolean }
SELECT p.order_id, p.checkout_id, p.gateway, p.card FROM payments p JOIN orders o ON o.id = p.order_id
WHERE p.id = :id AND p.due_at <= enter_customer_time(o.customer_id)
