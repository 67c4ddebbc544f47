-- A payment by the gateway's id of it.
-- @optional
SELECT id, order_id, status FROM payments
WHERE gateway = :gateway AND gateway_reference = :gateway_reference
