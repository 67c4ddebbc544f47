-- Deletes the oldest versions of a locked file, except as many as are kept.
-- @none
DELETE FROM file_versions WHERE id = ANY(ARRAY(
  SELECT id FROM file_versions WHERE file_id = :file_id ORDER BY number DESC OFFSET :kept))
