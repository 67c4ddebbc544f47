-- A late payment that is not refunded yet, with the gateway's id of it.
-- @optional
SELECT order_id, gateway_reference AS "payment!" FROM payments WHERE id = :id AND status = 'returning'
