-- The oldest events of a project, which are deleted with it. Operators still read the sales.
-- @many
SELECT e.id FROM events e
WHERE e.project_id = :project_id AND e.sequence IS NOT NULL AND NOT {is-sale}
ORDER BY e.sequence LIMIT :limit
