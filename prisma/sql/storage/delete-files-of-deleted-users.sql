-- Deletes files in the workspace of a deleted user, which no one can read. Files with documents follow once
-- those are deleted.
-- @one
WITH deleted AS (
  DELETE FROM files WHERE id = ANY(ARRAY(
    SELECT f.id FROM users u JOIN files f ON f.workspace_id = u.id
    WHERE u.status = 'deleted' AND NOT EXISTS (SELECT FROM documents d WHERE d.file_id = f.id)
    LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
