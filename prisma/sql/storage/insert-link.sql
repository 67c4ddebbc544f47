-- Inserts a link to a file. `digest` is the SHA-256 of its token.
-- @one
WITH l AS (
  INSERT INTO file_links (id, file_id, digest, max_downloads, created_by, metadata, expires_at,
    created_at)
  VALUES (:id, :file_id, :digest, :max_downloads?, :created_by, :metadata, :expires_at, :created_at)
  RETURNING *
)
SELECT {link-columns} FROM l JOIN files f ON f.id = l.file_id
