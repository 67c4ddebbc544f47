-- Deletes a project.
-- @none
DELETE FROM projects WHERE id = :id
