-- Deletes files. A trigger puts their blobs into quarantine.
-- @none
DELETE FROM files WHERE id = ANY(:ids)
