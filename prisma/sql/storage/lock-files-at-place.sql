-- Locks the files with this folder and name for their deletion, at most `limit`. The file `besides` does not
-- count.
-- @many
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.workspace_id = :workspace_id AND {is-in-folder} AND {has-name name=:name}
  AND f.id <> :besides AND {is-visible}
ORDER BY f.id LIMIT :limit
FOR UPDATE OF f
