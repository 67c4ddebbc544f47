-- The versions of a file.
-- @page
SELECT {version-columns}
FROM file_versions v
WHERE v.file_id = :file_id
-- @common v.created_at
-- @filter created_by
v.created_by = :created_by
-- @sort created_at
v.number
-- @id
v.id
-- @total
SELECT count(*) AS total FROM file_versions WHERE file_id = :file_id
