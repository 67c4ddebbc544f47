-- Ends a sweep: the next one is due a day later.
-- @none
UPDATE database_identity SET swept_at = now() WHERE sweep_id = :sweep_id
