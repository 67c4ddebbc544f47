-- Locks the projects of an organization, in the order of their ids.
-- @many
SELECT id FROM projects WHERE organization_id = :organization_id ORDER BY id FOR NO KEY UPDATE
