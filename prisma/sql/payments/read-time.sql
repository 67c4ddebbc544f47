-- The current time of the payment clock, or of a customer.
-- @one
SELECT enter_customer_time(:customer_id?) AS "now!"
