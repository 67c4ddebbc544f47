-- The organization and its projects, those that the user is a member of.
-- @many
SELECT m.project_id AS "id!" FROM projects p JOIN members m ON m.project_id = p.id
WHERE p.organization_id = :organization_id AND m.user_id = :user_id
UNION ALL
SELECT m.organization_id FROM organization_members m
WHERE m.organization_id = :organization_id AND m.user_id = :user_id AND m.status = 'active'
