-- Puts the time of a customer ahead of the payment clock, so that it counts in `count-moved-clocks`.
-- @none
UPDATE customers SET clock_offset = 1 WHERE id = :customer_id AND clock_offset = 0
