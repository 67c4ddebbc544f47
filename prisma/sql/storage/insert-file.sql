-- Inserts a file whose blob is stored. Does not check the quota.
-- @one
WITH f AS (
  INSERT INTO files (id, project_id, owner_id, workspace_id, name, folder_id, content_type,
    declared_content_type, bytes, sha256, visibility, metadata, tags, expires_at, blob_key, created_at,
    updated_at)
  VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :name, :folder_id?, :content_type,
    :declared_content_type?, :bytes, :sha256, :visibility, :metadata, :tags, :expires_at?, :blob_key,
    :created_at, :created_at)
  RETURNING *
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f
