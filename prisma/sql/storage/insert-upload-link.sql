-- Inserts an upload link. `digest` is the SHA-256 of its token.
-- @one
WITH l AS (
  INSERT INTO upload_links (id, project_id, owner_id, workspace_id, digest, path, title, max_bytes,
    content_types, max_files, metadata, expires_at, created_at)
  VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :digest, :path, :title?,
    :max_bytes?, :content_types, :max_files?, :metadata, :expires_at, :created_at)
  RETURNING *
)
SELECT {upload-link-columns}, l.project_id FROM l
