-- Deletes the storage usage of a project.
-- @none
DELETE FROM storage_usage WHERE space_id = :project_id
