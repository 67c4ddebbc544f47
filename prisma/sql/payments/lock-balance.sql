-- The credit of a customer, locked until the end of the transaction.
-- @optional
SELECT amount FROM customer_balances WHERE customer_id = :customer_id AND currency = :currency
FOR NO KEY UPDATE
