-- Moves the payment clock forward to a time. Does nothing if the clock is past it.
-- Rounds up, so that a task due at the target time is due once the clock has moved.
-- @none
UPDATE payment_clock SET "offset" =
  greatest("offset", ceil(extract(epoch FROM :to - clock_timestamp()) * 1000)::bigint)
WHERE id = 1
