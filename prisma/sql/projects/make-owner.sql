-- Gives a member of a project the role of an owner, beside what the organization of the project gives.
-- @none
UPDATE members SET own_role = 'owner', custom_role_id = NULL
WHERE project_id = :project_id AND user_id = :user_id
