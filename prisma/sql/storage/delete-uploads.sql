-- Deletes uploads: without events, and without the partial files.
-- @none
DELETE FROM uploads WHERE id = ANY(:ids)
