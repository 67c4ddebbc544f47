-- The folder with a path, which is not being deleted.
-- @optional
SELECT d.id FROM folders d
WHERE d.workspace_id = :workspace_id AND md5(d.path) = md5(normalize(:path, NFC))
  AND d.path = normalize(:path, NFC) AND d.deleted_at IS NULL
