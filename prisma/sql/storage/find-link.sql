-- A link of a file.
-- @optional
SELECT {link-columns}
FROM file_links l JOIN files f ON f.id = l.file_id
WHERE l.file_id = :file_id AND l.id = :id
