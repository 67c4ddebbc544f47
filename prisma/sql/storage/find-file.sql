-- A file, visible or not, without authorization.
-- @optional
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.id = :id
