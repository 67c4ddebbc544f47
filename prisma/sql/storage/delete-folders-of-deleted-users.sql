-- Deletes the folders of deleted users without files.
-- @one
WITH deleted AS (
  DELETE FROM folders WHERE workspace_id = ANY(ARRAY(
    SELECT u.id FROM users u
    WHERE u.status = 'deleted' AND EXISTS (SELECT FROM folders d WHERE d.workspace_id = u.id)
      AND NOT EXISTS (SELECT FROM files f WHERE f.workspace_id = u.id)
    LIMIT :limit))
  RETURNING workspace_id
)
SELECT count(DISTINCT workspace_id)::int AS n FROM deleted
