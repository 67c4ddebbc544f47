-- The payment method of a customer with this card.
-- @optional
SELECT {payment-method-columns}
FROM payment_methods t
WHERE t.customer_id = :customer_id AND t.gateway = :gateway AND t.fingerprint = :fingerprint
