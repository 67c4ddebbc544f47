-- The oldest events of a project, which are deleted with it.
-- @many
SELECT id FROM events WHERE project_id = :project_id AND sequence IS NOT NULL ORDER BY sequence LIMIT :limit
