-- The payment clock, or the time of a customer, and how many milliseconds it is ahead of real time.
-- @one
SELECT enter_customer_time(:customer_id?) AS "now!",
  "offset" + coalesce((SELECT c.clock_offset FROM customers c WHERE c.id = :customer_id), 0) AS "offset!"
FROM payment_clock
