-- A project of the organization that is not deleted.
-- @optional
SELECT id FROM projects WHERE organization_id = :organization_id AND status <> 'deleted' LIMIT 1
