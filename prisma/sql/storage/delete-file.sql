-- Deletes a file. A trigger puts its blob into quarantine.
-- @none
DELETE FROM files WHERE id = :id
