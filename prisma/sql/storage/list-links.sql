-- The links of a file.
-- @page
SELECT {link-columns}
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = :file_id
-- @common l.created_at l.updated_at l.metadata
-- @filter status
{link-status} = ANY(:status)
-- @filter created_by
l.created_by = :created_by
-- @sort created_at
l.created_at
-- @sort expires_at
l.expires_at
-- @sort updated_at
l.updated_at
-- @id
l.id
-- @total
SELECT count(*) AS total FROM file_links WHERE file_id = :file_id
