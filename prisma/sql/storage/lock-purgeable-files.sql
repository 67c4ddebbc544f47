-- Locks some of the files whose time in the trash is over, except those that another transaction has locked.
-- @many
SELECT {file-columns}, f.project_id, f.owner_id
FROM files f
WHERE f.trashed_at IS NOT NULL AND f.purge_at <= now()
ORDER BY f.purge_at, f.id LIMIT :limit
FOR UPDATE OF f SKIP LOCKED
