-- Locks the projects that a user is a member of.
-- @many
SELECT p.id FROM projects p WHERE p.id IN (SELECT project_id FROM members WHERE user_id = :user_id)
ORDER BY p.id FOR NO KEY UPDATE
