-- Puts locked files into a folder of their workspace.
-- @many
WITH f AS (
  UPDATE files SET folder_id = :folder_id?, updated_at = {times/next-updated-at}
  WHERE id = ANY(:ids)
  RETURNING *
)
SELECT {file-columns}, f.project_id, f.owner_id FROM f ORDER BY f.id
