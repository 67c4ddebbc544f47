-- Stores the gateway's id of a customer that has none.
-- @none
INSERT INTO gateway_customers (customer_id, gateway, gateway_reference)
VALUES (:customer_id, :gateway, :reference)
ON CONFLICT DO NOTHING
