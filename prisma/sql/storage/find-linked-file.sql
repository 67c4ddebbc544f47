-- A link by the SHA-256 of its token, with its file, unless the file is expired or no one can read it.
-- @optional
-- @type link_status Schemas['FileLink']['status']
SELECT l.id AS link_id, {link-status} AS link_status, {file-columns}, f.project_id, f.owner_id, f.blob_key
FROM file_links l JOIN files f ON f.id = l.file_id
  JOIN users u ON u.id = f.owner_id LEFT JOIN projects p ON p.id = f.project_id
WHERE l.digest = :digest AND {is-visible}
  AND CASE WHEN f.project_id IS NULL THEN u.status = 'active' ELSE p.status <> 'deleted' END
