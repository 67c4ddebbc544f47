-- A member of a project.
-- @optional
SELECT {member-columns}
FROM members m JOIN users u ON u.id = m.user_id
WHERE m.id = :id AND m.project_id = :project_id
