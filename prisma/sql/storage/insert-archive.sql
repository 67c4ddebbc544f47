-- Inserts an archive. `directory`: where the directory of its ZIP begins.
-- @one
WITH a AS (
  INSERT INTO archives (id, project_id, owner_id, name, files, directory, bytes, created_at, expires_at)
  VALUES (:id, :project_id?, :owner_id, :name, :files, :directory, :bytes, :created_at, :expires_at)
  RETURNING *
)
SELECT {archive-columns}, a.project_id FROM a
