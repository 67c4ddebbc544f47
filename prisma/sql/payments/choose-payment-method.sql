-- Makes a payment method the default of its customer.
-- @optional
UPDATE payment_methods t SET chosen_at = {next-choice}, updated_at = greatest(:at, updated_at)
WHERE customer_id = :customer_id AND id = :id
RETURNING {payment-method-columns}
