-- A folder of a workspace that is not being deleted, without authorization.
-- @optional
SELECT {folder-columns}, d.project_id
FROM folders d
WHERE d.id = :id AND d.workspace_id = :workspace_id AND d.deleted_at IS NULL
