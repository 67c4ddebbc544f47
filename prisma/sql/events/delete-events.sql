-- Deletes events.
-- @none
DELETE FROM events WHERE id = ANY(:ids)
