-- Inserts an upload. Does not check the quota.
-- @one
WITH u AS (
  INSERT INTO uploads (id, project_id, user_id, workspace_id, upload_link_id, name, path, folder_id,
    declared_content_type, visibility,
    metadata, tags, file_expires_at, sha256, on_conflict, raw_metadata, length, created_at, expires_at)
  VALUES (:id, :project_id?, :user_id, coalesce(:project_id, :user_id), :upload_link_id?,
    :name, :path, :folder_id?, :declared_content_type?, :visibility, :metadata, :tags, :file_expires_at?,
    :sha256?, :on_conflict, :raw_metadata, :length, :created_at, :expires_at)
  RETURNING *
)
SELECT {upload-columns} FROM u
