-- Deletes a batch of the files of a project.
-- @one
WITH deleted AS (
  DELETE FROM files WHERE id = ANY(ARRAY(SELECT id FROM files WHERE workspace_id = :project_id LIMIT :limit))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
