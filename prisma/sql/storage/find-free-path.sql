-- The first of the paths that no folder has.
-- @optional
SELECT n.path AS "path!"
FROM unnest(:paths::text[]) WITH ORDINALITY AS n (path, position)
WHERE NOT EXISTS (
  SELECT FROM folders d
  WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL AND md5(d.path) = md5(n.path)
    AND d.path = n.path
)
ORDER BY n.position LIMIT 1
