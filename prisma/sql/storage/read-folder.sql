-- A folder that is not being deleted, its workspace and the caller's access to it.
-- @optional
SELECT {folder-columns}, d.workspace_id, {projects/access row=d role=storage_role}
FROM folders d
WHERE d.id = :id AND d.deleted_at IS NULL
