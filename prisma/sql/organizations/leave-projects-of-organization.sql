-- Removes a member from all projects of an organization.
-- @none
DELETE FROM members m USING projects p
WHERE p.id = m.project_id AND p.organization_id = :organization_id AND m.user_id = :user_id
