-- Deletes files. Triggers put their blobs and those of their versions into quarantine.
-- @none
DELETE FROM files WHERE id = ANY(:ids)
