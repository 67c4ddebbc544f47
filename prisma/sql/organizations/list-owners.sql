-- The owners of an organization.
-- @many
SELECT user_id AS "user_id!" FROM organization_members
WHERE organization_id = :organization_id AND role = 'owner' AND status = 'active' ORDER BY id
