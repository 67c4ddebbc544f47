-- Deletes a file. A trigger queues its blob for deletion.
-- @none
DELETE FROM files WHERE id = :id
