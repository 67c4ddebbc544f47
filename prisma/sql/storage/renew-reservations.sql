-- Renews reservations whose uploads are in progress.
-- @none
UPDATE storage_reservations SET held_until = now() + make_interval(secs => :seconds) WHERE id = ANY(:ids)
