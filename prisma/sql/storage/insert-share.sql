-- Shares a folder. Without a row, the folder is shared with the address already.
-- @optional
WITH s AS (
  INSERT INTO folder_shares (id, folder_id, project_id, owner_id, email, role, expires_at, created_at)
  VALUES (:id, :folder_id, :project_id?, :owner_id, :email, :role, :expires_at?, :created_at)
  ON CONFLICT (folder_id, email) DO NOTHING
  RETURNING *
)
SELECT {share-columns} FROM s
