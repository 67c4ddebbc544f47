-- A custom role of an organization, locked against other writers.
-- @optional
SELECT {columns}
FROM custom_roles t
WHERE t.id = :id AND t.organization_id = :organization_id
FOR NO KEY UPDATE
