-- An upload link by the SHA-256 of its token, unless its project is deleted.
-- @optional
SELECT {upload-link-columns}, l.project_id, l.owner_id, l.workspace_id, p.status AS project_status,
  {open-link-uploads link=l.id} AS "open_uploads!"
FROM upload_links l LEFT JOIN projects p ON p.id = l.project_id
WHERE l.digest = :digest AND p.status IS DISTINCT FROM 'deleted'
