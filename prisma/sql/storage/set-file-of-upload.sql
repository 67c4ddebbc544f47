-- Finishes an upload: it has become a file.
-- @none
UPDATE uploads SET file_id = :file_id WHERE id = :id
