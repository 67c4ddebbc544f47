-- The characters of the longest path in a folder, with its own.
-- @one
SELECT max(char_length(d.path)) AS "length!"
FROM folders d
WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL
  AND (d.id = :id OR starts_with(d.path, :path || '/'))
