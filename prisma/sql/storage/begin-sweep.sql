-- Begins a sweep of the file store.
-- @none
UPDATE database_identity SET sweep_id = :sweep_id, sweep_began_at = now()
