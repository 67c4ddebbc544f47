-- Detaches at most :limit rows of `table` from the project :project_id. Returns their number.
WITH detached AS (
  UPDATE {table} SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM {table} WHERE project_id = :project_id LIMIT :limit)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached
