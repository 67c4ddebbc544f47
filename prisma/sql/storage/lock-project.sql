-- Locks a project, so that its members and its status stay as they are.
-- @optional
SELECT p.id FROM projects p WHERE p.id = :project_id FOR NO KEY UPDATE
