-- Deletes a file. Triggers put its blob and those of its versions into quarantine.
-- @none
DELETE FROM files WHERE id = :id
