-- Deletes a payment method. No row if there is none.
-- @optional
DELETE FROM payment_methods WHERE customer_id = :customer_id AND id = :id RETURNING brand, last4
