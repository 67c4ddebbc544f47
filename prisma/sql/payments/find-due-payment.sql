-- A slow payment, if it is due to finish.
-- @optional
-- @type card { brand: string; last4: string; renews: boolean }
SELECT order_id, checkout_id, gateway, card FROM payments WHERE id = :id AND due_at <= payments_now()
