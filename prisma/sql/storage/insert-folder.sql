-- Inserts a folder. Does not check the limit.
-- @one
WITH d AS (
  INSERT INTO folders
    (id, project_id, owner_id, workspace_id, parent_id, name, path, metadata, created_at, updated_at)
  VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :parent_id?, :name, :path,
    :metadata, :created_at, :created_at)
  RETURNING *
)
SELECT {folder-columns}, d.project_id FROM d
