-- Files by their ids, visible or not, without authorization.
-- @many
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.id = ANY(:ids)
ORDER BY f.id
