-- Whether a file in the folder has the name. The file `besides` does not count.
-- @one
SELECT EXISTS (
  SELECT FROM files f
  WHERE f.workspace_id = :workspace_id AND {is-in-folder} AND {has-name name=:name}
    AND f.id <> :besides AND {is-visible}
) AS is_taken
