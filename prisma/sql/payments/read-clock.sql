-- The payment clock, and how many milliseconds it is ahead of real time.
-- @one
SELECT payments_now() AS "now!", "offset" FROM payment_clock
