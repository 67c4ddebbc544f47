-- Locks some of the files that came into the trash of a workspace until a time.
-- @many
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.workspace_id = :workspace_id AND f.trashed_at <= :until
ORDER BY f.trashed_at, f.id LIMIT :limit
FOR UPDATE OF f
