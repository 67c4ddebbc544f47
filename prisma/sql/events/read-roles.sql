-- The roles of the users in the projects.
-- @many
SELECT project_id, user_id, role FROM members
WHERE project_id = ANY(:project_ids) AND user_id = ANY(:user_ids)
