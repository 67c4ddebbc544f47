-- The current time of the payment clock.
-- @one
SELECT payments_now() AS "now!"
