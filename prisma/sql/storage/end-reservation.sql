-- Ends a reservation.
-- @none
DELETE FROM storage_reservations WHERE id = :id
