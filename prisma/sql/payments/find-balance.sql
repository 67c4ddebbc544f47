-- The credit of a customer.
-- @optional
SELECT amount FROM customer_balances WHERE customer_id = :customer_id AND currency = :currency
