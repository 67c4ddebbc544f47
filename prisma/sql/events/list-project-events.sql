-- The oldest events of a project.
-- @many
SELECT id FROM events WHERE project_id = :project_id AND sequence IS NOT NULL ORDER BY sequence LIMIT :limit
