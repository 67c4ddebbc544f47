-- The payment methods of a customer.
-- @page
SELECT {payment-method-columns}
FROM payment_methods t
WHERE t.customer_id = :customer_id
-- @common t.id=pm t.updated_at
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @id
t.id
