-- Whether a member has the custom role.
-- @optional
SELECT id FROM members WHERE custom_role_id = :id LIMIT 1
