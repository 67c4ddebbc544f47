-- Deletes the memberships of a user and returns them.
-- @many
WITH deleted AS (DELETE FROM members WHERE user_id = :user_id RETURNING *)
SELECT {projects/member-columns} FROM deleted m JOIN users u ON u.id = m.user_id ORDER BY m.project_id
