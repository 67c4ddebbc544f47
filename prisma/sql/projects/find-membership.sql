-- Whether the user is a member of a project, and whether the project is deleted.
-- @optional
SELECT m.id IS NOT NULL AS member, p.status = 'deleted' AS deleted
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = :user_id
WHERE p.id = :project_id
