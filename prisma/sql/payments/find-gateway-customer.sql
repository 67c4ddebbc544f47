-- The gateway's id of a customer.
-- @optional
SELECT gateway_reference AS reference FROM gateway_customers
WHERE customer_id = :customer_id AND gateway = :gateway
