-- Gives a folder another parent or name, and with it the folders in it another path.
-- @none
UPDATE folders d
SET path = :new_path || substr(d.path, char_length(:path) + 1),
  name = CASE WHEN d.id = :id THEN :name ELSE d.name END,
  parent_id = CASE WHEN d.id = :id THEN :parent_id? ELSE d.parent_id END
WHERE d.workspace_id = :workspace_id AND d.deleted_at IS NULL
  AND (d.id = :id OR starts_with(d.path, :path || '/'))
