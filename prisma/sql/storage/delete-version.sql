-- Deletes a version. A trigger puts its blob into quarantine.
-- @none
DELETE FROM file_versions WHERE id = :id
