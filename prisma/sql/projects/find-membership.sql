-- The user's role in a project, null for none, and whether the project is deleted.
-- @optional
SELECT m.role AS "role?", p.status = 'deleted' AS deleted
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = :user_id
WHERE p.id = :project_id
