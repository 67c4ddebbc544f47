-- Deletes the storage usage of a project.
-- @none
DELETE FROM storage_usage WHERE workspace_id = :project_id
