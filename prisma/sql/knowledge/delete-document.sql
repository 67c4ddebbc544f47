-- Deletes one document per statement, because each may have tens of thousands of chunks.
-- @none
DELETE FROM documents WHERE id = :id
