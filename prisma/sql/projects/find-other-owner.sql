-- The longest-standing owner of a project besides this member.
-- @optional
SELECT user_id FROM members
WHERE project_id = :project_id AND role = 'owner' AND id <> :member_id
ORDER BY created_at, id LIMIT 1
