-- A payment method of a customer.
-- @optional
SELECT {payment-method-columns}
FROM payment_methods t
WHERE t.customer_id = :customer_id AND t.id = :id
