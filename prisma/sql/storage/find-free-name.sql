-- The first of the names that no file in the folder has. The file `besides` does not count.
-- @optional
SELECT n.name AS "name!"
FROM unnest(:names::text[]) WITH ORDINALITY AS n (name, position)
WHERE NOT EXISTS (
  SELECT FROM files f
  WHERE f.workspace_id = :workspace_id AND {is-in-folder} AND {has-name name=n.name}
    AND f.id <> :besides AND {is-visible}
)
ORDER BY n.position LIMIT 1
