-- The projects of an organization.
SELECT id FROM projects WHERE organization_id = :organization_id?
