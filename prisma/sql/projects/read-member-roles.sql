-- What a member of a project may do in each area; of a user who has a custom role there.
-- @optional
SELECT role, storage_role, ai_role, payments_role FROM members
WHERE project_id = :project_id AND user_id = :user_id AND custom_role_id IS NOT NULL
